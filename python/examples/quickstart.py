# %% [markdown]
# # Exact scores for a decision, from table to picture
#
# Run it as a script, or cell by cell in an editor that knows `# %%`. It needs scikit-learn, shap and matplotlib, and
# writes two pictures into the current folder.

# %%
import matplotlib.pyplot as plt
import numpy as np
import shap
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import boolshap

# %% [markdown]
# ## A network
# 569 tumours, ten measurements each. Every measurement becomes one bit, "above the mean of the training rows". The
# network has weights +1 and -1 and step activations; one seed gives one network.

# %%
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10]
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = boolshap.BnnClassifier(hidden=(8,), random_state=7).fit(X_train, y_train)
print(f"classes {model.classes_.tolist()}, test accuracy {model.score(X_test, y_test):.3f}")

# %% [markdown]
# ## The same network as a circuit
# The circuit is equal to the network on every input; `verify=True` has it proved.

# %%
circuit = model.circuit(verify=True)
print(circuit)

# %% [markdown]
# ## Scores
# Why is this tumour called malignant, compared with the training rows? A score is how much a measurement moves the
# label (1 is the second class, malignant). The scores explain the decision, not a probability: base value and scores
# add up to the label.

# %%
explainer = boolshap.Explainer(circuit, X_train)
explanation = explainer(X_test)

labels = circuit.predict(X_test)
assert np.abs(explanation.base_values + explanation.values.sum(axis=1) - labels).max() < 1e-9

shap.plots.waterfall(explanation[int(labels.argmax())], show=False)
plt.savefig("waterfall.png", bbox_inches="tight")
plt.close()
shap.plots.beeswarm(explanation, show=False)
plt.savefig("beeswarm.png", bbox_inches="tight")
plt.close()

# %% [markdown]
# ## As fractions
# Nothing is sampled and nothing has to be rounded.

# %%
exact = explainer.exact(X_test[:1])
for name, score in zip(exact.names, exact.values[0]):
    print(f"{name:24} {str(score):>16} = {float(score):+.4f}")
assert exact.base_values[0] + sum(exact.values[0]) == exact.predictions[0]

# %% [markdown]
# ## A second opinion
# shap's own exact explainer asks the network 2^10 questions for each row and each background row, and gets the same.

# %%
background, few = model.bits(X_train)[:20], model.bits(X_test)[:3]
theirs = shap.ExactExplainer(
    lambda rows: model.model_.predict(rows.astype(np.uint8)).astype(float),
    shap.maskers.Independent(background.astype(float), max_samples=len(background)),
)(few.astype(float))
ours = boolshap.Explainer(circuit, background, input="bits")(few)
print(f"largest difference from shap.ExactExplainer: {np.abs(theirs.values - ours.values).max():.1e}")
assert np.abs(theirs.values - ours.values).max() < 1e-9

# %% [markdown]
# ## Which two work together?

# %%
pairs = np.abs(explainer.interactions(X_test[:20])).mean(axis=0)
one, other = np.unravel_index(pairs.argmax(), pairs.shape)
print(f"the strongest pair: {explainer.players[one]} and {explainer.players[other]}, {pairs[one, other]:.3f}")

# %% [markdown]
# ## Keep it
# The files are those of the command line: `boolshap explain cancer.bsc tumours.csv`.

# %%
circuit.save("cancer.bsc")
assert boolshap.load("cancer.bsc") == circuit
