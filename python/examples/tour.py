# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A tour of boolshap
#
# A credit decision, an image, questions about a decision, and moving from shap. Open it as a notebook with jupytext, or run it as a
# script. It needs scikit-learn, pandas and shap.

# %%
import numpy as np
import pandas as pd
import shap
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import boolshap

# %% [markdown]
# ## A credit decision
# Made-up applicants with raw columns: numbers and a text. The network learns on bits; scores are those of the raw columns.

# %%
random = np.random.default_rng(7)
count = 600
people = pd.DataFrame({
    "income": random.lognormal(8, 0.4, count).round(-1),
    "debt": random.lognormal(7, 0.8, count).round(-1),
    "years": random.integers(0, 30, count),
    "home": random.choice(["own", "rent", "family"], count),
})
worth = np.log(people["income"]) - 0.5 * np.log(people["debt"]) + 0.03 * people["years"] + 0.3 * (people["home"] == "own")
granted = (worth + random.normal(0, 0.2, count) > 4.9).astype(int)

network = make_pipeline(boolshap.Binarizer("median"), boolshap.BnnClassifier(hidden=(4,))).fit(people, granted)
explainer = boolshap.Explainer(network, people[:100])
explanation = explainer(people)
print("base value and scores add up to the decision:",
      np.allclose(explanation.base_values + explanation.values.sum(axis=1), network.predict(people)))
shap.plots.waterfall(explanation[0], show=False)

# %% [markdown]
# ## The same with boosted trees
# On raw columns, without bits. What is explained is the margin, in its own units; every column is one player.

# %%
encode = make_column_transformer((StandardScaler(), ["income", "debt", "years"]), (OneHotEncoder(), ["home"]))
boosted = make_pipeline(encode, GradientBoostingClassifier(n_estimators=40, random_state=1)).fit(people, granted)
margins = boolshap.Explainer(boosted, people[:100])
found = margins(people)
print("and here to the margin:",
      np.allclose(found.base_values + found.values.sum(axis=1), boosted.decision_function(people)))
shap.plots.beeswarm(found, show=False)

# %% [markdown]
# ## Questions
# What suffices for a decision, and what would change it? These need a circuit: that of the network on its bits.

# %%
binarizer, classifier = network
circuit = boolshap.compile(classifier.model_, features=list(binarizer.get_feature_names_out()))
asker = boolshap.Asker(circuit)
bits = binarizer.transform(people[:3])
print(asker.reasons(bits))
print(asker.counterfactuals(bits, freeze=["home=own", "home=rent", "home=family"]))

# %% [markdown]
# ## An image
# Handwritten digits of 8 by 8 pixels, each pixel a bit. With a grid the scores are an image too.

# %%
digits, labels = load_digits(return_X_y=True)
chosen = np.isin(labels, (3, 8))
ink, is_eight = (digits[chosen] > 7).astype(np.uint8), (labels[chosen] == 8).astype(int)
reader = boolshap.BnnClassifier(hidden=(), weights="ternary").fit(ink, is_eight)
images = boolshap.Explainer(reader.model_.with_grid(8, 8), ink[:50], model_output="score").images(ink[:4])
print("scores as images:", images.values.shape)

# %% [markdown]
# ## Moving from shap
# The names that you know work: `masker`, `data`, `shap_values`, `expected_value`, `shap_interaction_values`.

# %%
table = people[["income", "debt", "years"]].to_numpy(dtype=np.float32).astype(float)
trees = GradientBoostingClassifier(n_estimators=30, random_state=1).fit(table, granted)
ours = boolshap.Explainer(trees, masker=shap.maskers.Independent(table[:100], max_samples=100))
theirs = shap.TreeExplainer(trees, table[:100], feature_perturbation="interventional")
apart = np.abs(ours.shap_values(table) - theirs.shap_values(table)).max()
print(f"the same as TreeExplainer: {apart:.0e} apart at most")
halves = ours.shap_interaction_values(table[:5])
print("interactions add up to the scores:", np.allclose(halves.sum(axis=2), ours.shap_values(table[:5])))
