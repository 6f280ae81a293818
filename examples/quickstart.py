"""Fit a private rule list on scikit-learn's breast cancer data; print it, its accuracy and its privacy card."""

from sklearn.model_selection import train_test_split

import hedgerow as hr

data = hr.datasets.load("breast_cancer")
X_train, X_test, y_train, y_test = train_test_split(data.frame, data.labels, test_size=0.3, random_state=0)

model = hr.PrivateRuleListClassifier(
    epsilon=1.0, search="exact", max_rules=3, max_literals=1, release_counts=True, schema=data.schema
)
model.fit(X_train, y_train)

print(model.rule_list_)
print(f"\naccuracy on {len(X_test)} held-out rows: {model.score(X_test, y_test):.3f}\n")
print(model.privacy_)
