//! Real networks of other tools, imported and counted over all inputs.

use crate::shared_data::shared_data;
use boolshap::model::{ImportOptions, Model, count_classes, import};

#[test]
fn the_larq_network_has_4096_ones() {
    let Some(path) = shared_data("paper/larq_bnn_13_13_1.h5") else { return };
    let imported = import(&path, &ImportOptions::default()).unwrap();
    assert_eq!(imported.network.shape(), "13-13-1");
    assert!(imported.network.hidden().iter().flatten().all(|gate| gate.is_binary()));
    assert_eq!(count_classes(&imported.network, u64::MAX), Some(vec![4096, 4096]));
}

#[test]
fn the_16_input_network_has_the_published_class_counts() {
    let Some(path) = shared_data("bnn/mnist_bnn_2_blk_16_25_20_10") else { return };
    let imported = import(&path, &ImportOptions::default()).unwrap();
    assert_eq!(imported.network.shape(), "16-25-20-10");
    let expected = [0, 4140, 37536, 109, 90, 2719, 3872, 6, 4431, 12633];
    assert_eq!(count_classes(&imported.network, u64::MAX).unwrap(), expected);
}

#[test]
fn every_folder_of_layers_is_imported_and_saved() {
    let Some(folder) = shared_data("bnn") else { return };
    let mut shapes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.join("out_blk").is_dir() {
            let network = import(&path, &ImportOptions::default()).unwrap().network;
            let model = Model::new(network.clone(), Model::default_features(network.inputs())).unwrap();
            assert_eq!(Model::from_json(&model.to_json()).unwrap(), model);
            shapes.push(network.shape());
        }
    }
    shapes.sort();
    assert_eq!(shapes, ["100-50-10", "16-25-20-10", "36-15-10-10", "64-10-10", "784-100-10"]);
}
