//! The positions of nodes in a drawing: in layers, with few crossings, and near their neighbours.

/// A position in the layered drawing: a node of the graph, or a bend of an edge that passes a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// Its layer, counted from the root's.
    pub(super) layer: usize,
    /// The x coordinate of its centre.
    pub(super) x: f64,
    width: f64,
}

/// A layered drawing.
#[derive(Debug)]
pub(super) struct Layout {
    /// First the graph's nodes, in their order, then the bends.
    pub(super) places: Vec<Place>,
    /// For each edge, the places it passes, both ends included.
    pub(super) routes: Vec<Vec<usize>>,
    /// The number of layers.
    pub(super) layers: usize,
    /// The total width.
    pub(super) width: f64,
}

const GAP: f64 = 16.0;
const BEND: f64 = 6.0;
const SWEEPS: usize = 12;

/// Lays out nodes by their widths. Edges go from a node to a later one: nodes must be in topological order, the root
/// first. `None` if there would be more than `most` places.
pub(super) fn layout(widths: &[f64], edges: &[(usize, usize)], most: usize) -> Option<Layout> {
    let mut layer = vec![0; widths.len()];
    let mut sorted = edges.to_vec();
    sorted.sort_unstable();
    for (from, to) in sorted {
        layer[to] = layer[to].max(layer[from] + 1);
    }
    let bends: usize = edges.iter().map(|&(from, to)| layer[to] - layer[from] - 1).sum();
    if widths.len() + bends > most {
        return None;
    }
    let mut places: Vec<Place> =
        widths.iter().zip(&layer).map(|(&width, &layer)| Place { layer, x: 0.0, width }).collect();
    let mut routes = Vec::with_capacity(edges.len());
    for &(from, to) in edges {
        let mut route = vec![from];
        for layer in layer[from] + 1..layer[to] {
            route.push(places.len());
            places.push(Place { layer, x: 0.0, width: BEND });
        }
        route.push(to);
        routes.push(route);
    }
    let layers = layer.iter().max().map_or(0, |last| last + 1);
    let mut above: Vec<Vec<usize>> = vec![Vec::new(); places.len()];
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); places.len()];
    for pair in routes.iter().flat_map(|route| route.windows(2)) {
        below[pair[0]].push(pair[1]);
        above[pair[1]].push(pair[0]);
    }
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); layers];
    for (index, place) in places.iter().enumerate() {
        rows[place.layer].push(index);
    }
    order(&mut rows, &above, &below);
    let width = stand(&rows, &above, &below, &mut places);
    Some(Layout { places, routes, layers, width })
}

/// Sorts every layer by the mean position of its neighbours, alternately downwards and upwards, and keeps the order
/// with the fewest crossings.
fn order(rows: &mut Vec<Vec<usize>>, above: &[Vec<usize>], below: &[Vec<usize>]) {
    let mut best = (crossings(rows, below), rows.clone());
    for sweep in 0..SWEEPS {
        let mut position = vec![0.0; above.len()];
        for row in rows.iter() {
            for (index, &place) in row.iter().enumerate() {
                position[place] = index as f64;
            }
        }
        let (neighbours, layers): (_, Vec<usize>) =
            if sweep % 2 == 0 { (above, (0..rows.len()).collect()) } else { (below, (0..rows.len()).rev().collect()) };
        for layer in layers {
            let key = |place: usize| mean(&neighbours[place], &position).unwrap_or(position[place]);
            let mut keyed: Vec<(f64, usize)> = rows[layer].iter().map(|&place| (key(place), place)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            rows[layer] = keyed.into_iter().map(|(_, place)| place).collect();
            for (index, &place) in rows[layer].iter().enumerate() {
                position[place] = index as f64;
            }
        }
        let crossed = crossings(rows, below);
        if crossed < best.0 {
            best = (crossed, rows.clone());
        }
    }
    *rows = best.1;
}

fn mean(neighbours: &[usize], of: &[f64]) -> Option<f64> {
    let sum: f64 = neighbours.iter().map(|&place| of[place]).sum();
    (!neighbours.is_empty()).then(|| sum / neighbours.len() as f64)
}

/// The number of crossings between neighbouring layers.
fn crossings(rows: &[Vec<usize>], below: &[Vec<usize>]) -> usize {
    let mut position = vec![0; below.len()];
    for row in rows {
        for (index, &place) in row.iter().enumerate() {
            position[place] = index;
        }
    }
    let crossed = |row: &Vec<usize>| {
        // Edges in the order of their upper ends: earlier edges that end further right cross an edge. They are counted
        // with a Fenwick tree over the lower positions.
        let mut ends: Vec<(usize, usize)> = row
            .iter()
            .flat_map(|&place| below[place].iter().map(|&to| (position[place], position[to])).collect::<Vec<_>>())
            .collect();
        ends.sort_unstable();
        let size = ends.iter().map(|end| end.1 + 2).max().unwrap_or(1);
        let mut tree = vec![0; size];
        let mut total = 0;
        for (seen, &(_, end)) in ends.iter().enumerate() {
            let mut up_to = 0;
            let mut at = end + 1;
            while at > 0 {
                up_to += tree[at];
                at &= at - 1;
            }
            total += seen - up_to;
            at = end + 1;
            while at < size {
                tree[at] += 1;
                at += at & at.wrapping_neg();
            }
        }
        total
    };
    rows.iter().map(crossed).sum()
}

/// Moves places towards the mean of their neighbours as far as their order and widths allow; returns the total width.
fn stand(rows: &[Vec<usize>], above: &[Vec<usize>], below: &[Vec<usize>], places: &mut [Place]) -> f64 {
    for row in rows {
        let mut x = 0.0;
        let total: f64 = row.iter().map(|&place| places[place].width + GAP).sum();
        for &place in row {
            let width = places[place].width + GAP;
            places[place].x = x + width / 2.0 - total / 2.0;
            x += width;
        }
    }
    for sweep in 0..2 * SWEEPS {
        // The last sweeps use the neighbours on both sides, which evens out the effect of one-sided sweeps.
        let both = sweep + 4 >= 2 * SWEEPS;
        let layers: Vec<usize> =
            if sweep % 2 == 0 { (0..rows.len()).collect() } else { (0..rows.len()).rev().collect() };
        for layer in layers {
            let wish = |place: usize| {
                let (up, down) = (&above[place], &below[place]);
                let mut near: Vec<usize> = if sweep % 2 == 0 || both { up.clone() } else { Vec::new() };
                if sweep % 2 == 1 || both {
                    near.extend(down);
                }
                let sum: f64 = near.iter().map(|&near| places[near].x).sum();
                if near.is_empty() { places[place].x } else { sum / near.len() as f64 }
            };
            let wishes: Vec<f64> = rows[layer].iter().map(|&place| wish(place)).collect();
            let widths: Vec<f64> = rows[layer].iter().map(|&place| places[place].width).collect();
            for (&place, x) in rows[layer].iter().zip(apart(&wishes, &widths)) {
                places[place].x = x;
            }
        }
    }
    let first = places.iter().map(|place| place.x - place.width / 2.0).fold(f64::INFINITY, f64::min);
    let last = places.iter().map(|place| place.x + place.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
    for place in places.iter_mut() {
        place.x -= first;
    }
    (last - first).max(0.0)
}

/// The positions nearest to the wishes, by least squares, that keep the order and do not overlap: with the widths
/// subtracted this is isotonic regression, solved by pooling adjacent violators.
fn apart(wishes: &[f64], widths: &[f64]) -> Vec<f64> {
    let mut shift = 0.0;
    let mut shifts = Vec::with_capacity(wishes.len());
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (index, (&wish, &width)) in wishes.iter().zip(widths).enumerate() {
        if index > 0 {
            shift += (widths[index - 1] + width) / 2.0 + GAP;
        }
        shifts.push(shift);
        let mut pool = (wish - shift, 1);
        while let Some(&(value, count)) = pools.last().filter(|last| last.0 > pool.0) {
            let total = count + pool.1;
            pool = ((value * count as f64 + pool.0 * pool.1 as f64) / total as f64, total);
            pools.pop();
        }
        pools.push(pool);
    }
    let values = pools.iter().flat_map(|&(value, count)| std::iter::repeat_n(value, count));
    values.zip(shifts).map(|(value, shift)| value + shift).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_follow_the_longest_path_and_edges_pass_every_layer() {
        let layout = layout(&[30.0; 4], &[(0, 1), (1, 2), (0, 3), (2, 3)], 100).unwrap();
        let layers: Vec<usize> = layout.places[..4].iter().map(|place| place.layer).collect();
        assert_eq!(layers, [0, 1, 2, 3]);
        assert_eq!(layout.layers, 4);
        let passed: Vec<usize> = layout.routes[2].iter().map(|&place| layout.places[place].layer).collect();
        assert_eq!(passed, [0, 1, 2, 3]);
        assert!(super::layout(&[30.0; 4], &[(0, 1), (1, 2), (0, 3), (2, 3)], 5).is_none());
    }

    #[test]
    fn needless_crossings_are_undone() {
        // Two trees side by side whose leaves are in the wrong order.
        let edges = [(0, 1), (0, 2), (1, 5), (1, 6), (2, 3), (2, 4)];
        let layout = layout(&[30.0; 7], &edges, 100).unwrap();
        let x = |node: usize| layout.places[node].x;
        assert!(x(1) < x(2) && x(5).max(x(6)) < x(3).min(x(4)));
        assert!((x(0) - (x(1) + x(2)) / 2.0).abs() < 1.0, "a parent is above the middle of its children");
    }

    #[test]
    fn places_keep_apart_and_close_to_their_wishes() {
        let places = apart(&[0.0, 0.0, 500.0], &[20.0, 40.0, 20.0]);
        assert_eq!(places, [-23.0, 23.0, 500.0]);
        assert_eq!(crossings(&[vec![0, 1], vec![2, 3]], &[vec![3], vec![2], vec![], vec![]]), 1);
        assert_eq!(crossings(&[vec![0, 1], vec![3, 2]], &[vec![3], vec![2], vec![], vec![]]), 0);
    }
}
