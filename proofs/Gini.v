(* The impurity of greedy choices: facts 1 and 2 of docs/mathematics.md (src/hedgerow/privacy/gini.py).

   Of n rows, the squares of whose counts by class sum to s, the impurity in rows is n - s / n. A row more of a class
   with k rows makes it n + 1 - (s + 2 k + 1) / (n + 1). *)

From Coq Require Import Reals Lra ZArith.
From Hedgerow Require Import Constants.
Open Scope R_scope.

Definition impurity (n s : R) : R := n - s / n.

(* Of a first row it stays 0. The class has k rows before; the others have r, the squares of whose counts sum to q,
   which is at most r^2. *)
Theorem impurity_rises_by_less_than_two k r q : 0 <= k -> 0 <= r -> 0 <= q <= r * r -> 0 < k + r ->
  0 <= impurity (k + 1 + r) ((k + 1) * (k + 1) + q) - impurity (k + r) (k * k + q) < IZR gini_sensitivity.
Proof.
  intros Hk Hr [q0 q1] pos. unfold impurity, gini_sensitivity.
  replace (k + 1 + r - ((k + 1) * (k + 1) + q) / (k + 1 + r) - (k + r - (k * k + q) / (k + r)))
    with ((r * r + q) / ((k + r) * (k + 1 + r))) by (field; lra).
  assert (0 < (k + r) * (k + 1 + r)) as d by nra. split.
  - apply Rmult_le_pos; [nra | left; now apply Rinv_0_lt_compat].
  - apply Rmult_lt_reg_r with ((k + r) * (k + 1 + r)); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.
