(* Counts with discrete Laplace noise: the section "One choice, and all counts" of docs/mathematics.md
   (src/hedgerow/privacy/noise.py: DiscreteLaplace; learn/learned.py; oracle/release_forms.py). *)

From Coq Require Import Reals List Lra Lia ZArith.
From Hedgerow Require Import Constants Sums Tables.
Import ListNotations.
Open Scope R_scope.

(* The chance of the whole number j at rate e, that is scale 1 / e. *)
Definition laplace (e : R) (j : Z) : R := (1 - exp (- e)) / (1 + exp (- e)) * exp (- e * IZR (Z.abs j)).

(* Noise on every count of a vector, drawn independently: the chance of the answer `ks`. *)
Fixpoint noisy (e : R) (counts answer : list Z) : R :=
  match counts, answer with
  | [], [] => 1
  | c :: cs, k :: ks => laplace e (k - c) * noisy e cs ks
  | _, _ => 0
  end.

Fixpoint distance (one other : list Z) : Z :=
  match one, other with c :: cs, d :: ds => Z.abs (c - d) + distance cs ds | _, _ => 0%Z end.

Lemma laplace_positive e j : 0 < e -> 0 < laplace e j.
Proof.
  intros pos. unfold laplace. pose proof (exp_pos (- e)). apply Rmult_lt_0_compat; [|apply exp_pos].
  assert (exp (- e) < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
  apply Rmult_lt_0_compat; [lra | apply Rinv_0_lt_compat; lra].
Qed.

Lemma laplace_shift e j i : 0 < e -> laplace e i <= exp (e * IZR (Z.abs (i - j))) * laplace e j.
Proof.
  intros pos. unfold laplace. set (c := (1 - exp (- e)) / (1 + exp (- e))).
  assert (0 <= c).
  { pose proof (exp_pos (- e)). assert (exp (- e) < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
    apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]. }
  replace (exp (e * IZR (Z.abs (i - j))) * (c * exp (- e * IZR (Z.abs j))))
    with (c * exp (e * IZR (Z.abs (i - j)) + - e * IZR (Z.abs j))) by (rewrite exp_plus; lra).
  apply Rmult_le_compat_l; auto. apply exp_le.
  assert (IZR (Z.abs j) <= IZR (Z.abs (i - j)) + IZR (Z.abs i)) by (rewrite <- plus_IZR; apply IZR_le; lia). nra.
Qed.

(* The masses from -n to n add up to 1 but for 2 exp (- e (n + 1)) / (1 + exp (- e)). *)
Fixpoint mass (e : R) (n : nat) : R :=
  match n with
  | O => laplace e 0
  | S m => mass e m + laplace e (Z.of_nat n) + laplace e (- Z.of_nat n)
  end.

Theorem laplace_total e n : mass e n = 1 - 2 * exp (- e * INR (S n)) / (1 + exp (- e)).
Proof.
  pose proof (exp_pos (- e)). induction n as [|n IH].
  - unfold mass, laplace. simpl Z.abs. rewrite Rmult_0_r, exp_0. simpl INR. rewrite !Rmult_1_r. field. lra.
  - cbn [mass]. rewrite IH. unfold laplace. rewrite Z.abs_opp.
    assert (IZR (Z.abs (Z.of_nat (S n))) = INR (S n)) as -> by (rewrite Z.abs_eq by lia; symmetry; apply INR_IZR_INZ).
    replace (- e * INR (S (S n))) with (- e * INR (S n) + - e) by (rewrite (S_INR (S n)); lra).
    rewrite exp_plus. field. lra.
Qed.

Lemma noisy_nonneg e c : 0 < e -> forall answer, 0 <= noisy e c answer.
Proof.
  intros pos. induction c as [|x c IH]; intros [|k answer]; simpl; try lra.
  apply Rmult_le_pos; auto. left. apply laplace_positive; auto.
Qed.

(* l1: noise at rate e on every count costs e times the distance. *)
Lemma noisy_shift e : 0 < e -> forall c d answer, length c = length d ->
  noisy e c answer <= exp (e * IZR (distance c d)) * noisy e d answer.
Proof.
  intros pos. induction c as [|x c IH]; intros [|y d] [|k answer] len; simpl in *; try discriminate;
    try (rewrite Rmult_0_r, exp_0; lra); try lra.
  rewrite plus_IZR, Rmult_plus_distr_l, exp_plus.
  pose proof (noisy_nonneg e c pos answer). pose proof (noisy_nonneg e d pos answer).
  pose proof (laplace_shift e (k - y) (k - x) pos) as one. replace (k - x - (k - y))%Z with (- (x - y))%Z in one by lia.
  rewrite Z.abs_opp in one. injection len as len. specialize (IH d answer len).
  replace (exp (e * IZR (Z.abs (x - y))) * exp (e * IZR (distance c d)) * (laplace e (k - y) * noisy e d answer))
    with ((exp (e * IZR (Z.abs (x - y))) * laplace e (k - y)) * (exp (e * IZR
      (distance c d)) * noisy e d answer)) by lra.
  apply Rmult_le_compat; auto. left. apply laplace_positive; auto.
Qed.

Lemma distance_sym c : forall d, distance c d = distance d c.
Proof. induction c as [|x c IH]; intros [|y d]; simpl; auto. rewrite IH. lia. Qed.

Section Histograms.
Context {Row : Type}.

(* Counts of l1 sensitivity s: noise of scale s / epsilon on each of them. *)
Theorem counts_private epsilon s (counts : table Row -> list Z) :
  0 < epsilon -> (0 < s)%Z ->
  (forall x D E, adds x D E -> length (counts D) = length (counts E) /\ (distance (counts D) (counts E) <= s)%Z) ->
  private epsilon (fun D answer => noisy (epsilon / IZR s) (counts D) answer).
Proof.
  intros pos spos sens x D E add answer. destruct (sens x D E add) as [len near].
  assert (0 < IZR s) by (now apply IZR_lt).
  assert (0 < epsilon / IZR s) as rate by (apply Rmult_lt_0_compat; auto; now apply Rinv_0_lt_compat).
  assert (epsilon / IZR s * IZR (distance (counts D) (counts E)) <= epsilon) as most.
  { apply Rle_trans with (epsilon / IZR s * IZR s); [|right; field; lra].
    apply Rmult_le_compat_l; [lra|]. now apply IZR_le. }
  pose proof (noisy_nonneg _ (counts D) rate answer). pose proof (noisy_nonneg _ (counts E) rate answer). split.
  - eapply Rle_trans; [apply (noisy_shift _ rate _ _ answer len)|]. apply Rmult_le_compat_r; auto. now apply exp_le.
  - eapply Rle_trans; [apply (noisy_shift _ rate _ _ answer (eq_sym len))|]. apply Rmult_le_compat_r; auto.
    apply exp_le. now rewrite distance_sym.
Qed.

(* A histogram: a row is in one bin. *)
Context {Bin : Type}.
Variables (bin_of : Row -> Bin) (same : forall a b : Bin, {a = b} + {a <> b}) (bins : list Bin).

Definition count (D : table Row) (b : Bin) : Z :=
  Z.of_nat (length (filter (fun r => if same (bin_of r) b then true else false) D)).
Definition histogram (D : table Row) : list Z := map (count D) bins.

Lemma count_add x D E b : adds x D E -> count E b = (count D b + if same (bin_of x) b then 1 else 0)%Z.
Proof.
  intros [before after]. unfold count. rewrite !filter_app, !app_length. simpl.
  destruct (same (bin_of x) b); simpl; lia.
Qed.

Theorem histogram_moves_by_one x D E : NoDup bins -> adds x D E ->
  (distance (histogram D) (histogram E) <= histogram_sensitivity)%Z.
Proof.
  intros once add. unfold histogram, histogram_sensitivity.
  assert (forall l, NoDup l -> distance (map (count D) l) (map (count E) l) =
    if in_dec same (bin_of x) l then 1%Z else 0%Z) as H.
  { induction 1 as [|b l not_in nd IH]; simpl; auto. rewrite IH, (count_add x D E b add).
    destruct (same b (bin_of x)) as [->|ne].
    - destruct (same (bin_of x) (bin_of x)); [|congruence]. destruct (in_dec same (bin_of x) l); [contradiction|lia].
    - destruct (same (bin_of x) b); [congruence|]. destruct (in_dec same (bin_of x) l); lia. }
  rewrite H; auto. destruct (in_dec same (bin_of x) bins); lia.
Qed.

Theorem histogram_private epsilon : 0 < epsilon -> NoDup bins ->
  private epsilon (fun D answer => noisy (epsilon / IZR histogram_sensitivity) (histogram D) answer).
Proof.
  intros pos once. apply counts_private; auto; [reflexivity|]. intros x D E add. split.
  - unfold histogram. now rewrite !map_length.
  - now apply (histogram_moves_by_one x).
Qed.

End Histograms.
