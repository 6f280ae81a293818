(* The constants that hedgerow's code uses and the statements of the other files speak of. tests/test_proofs.py reads
   them from here and compares them with the code. *)

From Coq Require Import ZArith.
Open Scope Z_scope.

(* The most that one added row raises the loss of a model (privacy/exponential_mechanism.py: ModelDraw). *)
Definition draw_sensitivity := 1.

(* An error of a in log-weights costs so many a: of the weight and of the normaliser, on each of two tables
   (privacy/exponential_mechanism.py: Rounding). *)
Definition slack_factor := 4.

(* The most that one added row raises an impurity in rows (privacy/gini.py: SENSITIVITY). *)
Definition gini_sensitivity := 2.

(* The change of a histogram in l1 by one added row (privacy/noise.py: DiscreteLaplace). *)
Definition histogram_sensitivity := 1.

(* The rho of pure epsilon is epsilon * tanh (epsilon / pure_rho_divisor) (privacy/zcdp.py: pure_rho), where tanh h is
   taken from above as h * (tanh_constant + h^2) / (tanh_constant + tanh_square * h^2). *)
Definition pure_rho_divisor := 2.
Definition tanh_constant := 15.
Definition tanh_square := 6.
