(* What pure epsilon costs in zCDP: fact 6 of docs/mathematics.md (src/hedgerow/privacy/zcdp.py: pure_rho).

   For an order a > 1 the Renyi divergence of P from Q is ln (sum P^a Q^(1 - a)) / (a - 1). `moment` is the sum, written
   with ratios: sum Q (P/Q)^a. That the divergence is at most a rho is that ln moment is at most a (a - 1) rho. *)

From Coq Require Import Reals List Lra Lia ZArith.
From Hedgerow Require Import Constants Sums Tables Calculus.
Import ListNotations.
Open Scope R_scope.

Definition moment {A} (answers : list A) (P Q : A -> R) (a : R) : R :=
  sum (fun o => Q o * Rpower (P o / Q o) a) answers.

(* Of order a: the bound of rho-zCDP. *)
Definition zcdp_bound {A} (answers : list A) (P Q : A -> R) (rho : R) : Prop :=
  forall a, 1 < a -> ln (moment answers P Q a) / (a - 1) <= a * rho.

Definition pure_rho (epsilon : R) : R := epsilon * tanh (epsilon / IZR pure_rho_divisor).

(* Randomised response: two answers, the first of which has the chance e^epsilon / (1 + e^epsilon). *)
Definition response (epsilon : R) (truth answer : bool) : R :=
  (if Bool.eqb truth answer then exp epsilon else 1) / (1 + exp epsilon).

(* ---------------------------------------------------------------- Powers are convex *)

Lemma Rpower_exp t a : Rpower (exp t) a = exp (a * t).
Proof. unfold Rpower. now rewrite ln_exp. Qed.

(* The tangent at 1 lies below: Bernoulli's inequality, y = exp t. *)
Lemma tangent a t : 1 <= a -> 1 + a * (exp t - 1) <= exp (a * t).
Proof.
  intros Ha. set (f := fun t => exp (a * t) - (1 + a * (exp t - 1))).
  set (g := fun t => a * exp (a * t) - a * exp t).
  assert (forall t, derivable_pt_lim f t (g t)) as D.
  { intros u. unfold f, g. eapply D_value.
    - apply D_minus; [|apply D_plus; [apply D_const | apply D_mult; [apply D_const | apply D_minus;
        [apply derivable_pt_lim_exp | apply D_const]]]].
      apply (derivable_pt_lim_comp (fun t => a * t) exp u (0 * u + a * 1) (exp (a * u))).
      + apply (D_mult (fun _ => a) (fun t => t)); [apply D_const | apply D_id].
      + apply derivable_pt_lim_exp.
    - cbv beta. ring. }
  enough (0 <= f t) by (unfold f in *; lra).
  assert (f 0 = 0) as f0 by (unfold f; rewrite Rmult_0_r, exp_0; lra).
  destruct (Rle_dec 0 t) as [up|down].
  - apply (above f g 0 t); auto; [lra|]. intros u Hu. unfold g.
    assert (exp u <= exp (a * u)) by (apply exp_le; nra). nra.
  - enough (0 <= - f t <= 0 \/ 0 <= f t) by lra. right.
    assert (t <= 0) as le by lra.
    enough (- f t <= - f 0) by lra.
    apply (rising (fun t => - f t) (fun t => - g t) t 0 le).
    + intros u. apply (derivable_pt_lim_opp f u (g u)). apply D.
    + intros u Hu. unfold g. assert (exp (a * u) <= exp u) by (apply exp_le; nra). nra.
Qed.

(* The chord from exp (- e) to exp e lies above: r = exp t between them, with the share p of the upper end. *)
Lemma chord a e t p : 1 <= a -> exp t = p * exp e + (1 - p) * exp (- e) -> 0 <= p <= 1 ->
  exp (a * t) <= p * exp (a * e) + (1 - p) * exp (a * - e).
Proof.
  intros Ha E Hp.
  pose proof (tangent a (e - t) Ha) as up. pose proof (tangent a (- e - t) Ha) as down.
  assert (exp (a * e) = exp (a * t) * exp (a * (e - t))) as -> by (rewrite <- exp_plus; f_equal; ring).
  assert (exp (a * - e) = exp (a * t) * exp (a * (- e - t))) as -> by (rewrite <- exp_plus; f_equal; ring).
  assert (exp t * exp (e - t) = exp e) as F by (rewrite <- exp_plus; f_equal; ring).
  assert (exp t * exp (- e - t) = exp (- e)) as G by (rewrite <- exp_plus; f_equal; ring).
  pose proof (exp_pos t) as pt. pose proof (exp_pos (a * t)) as pat.
  assert (p * exp (e - t) + (1 - p) * exp (- e - t) = 1) as H.
  { apply Rmult_eq_reg_l with (exp t); [|lra].
    replace (exp t * (p * exp (e - t) + (1 - p) * exp (- e - t)))
      with (p * (exp t * exp (e - t)) + (1 - p) * (exp t * exp (- e - t))) by ring.
    rewrite F, G. lra. }
  assert (1 <= p * exp (a * (e - t)) + (1 - p) * exp (a * (- e - t))) as le.
  { assert (p * (1 + a * (exp (e - t) - 1)) <= p * exp (a * (e - t))) by (apply Rmult_le_compat_l; lra).
    assert ((1 - p) * (1 + a * (exp (- e - t) - 1)) <= (1 - p) * exp (a * (- e - t))) by (apply Rmult_le_compat_l; lra).
    assert (p * (1 + a * (exp (e - t) - 1)) + (1 - p) * (1 + a * (exp (- e - t) - 1)) =
      1 + a * (p * exp (e - t) + (1 - p) * exp (- e - t) - 1)) as I by ring.
    rewrite H in I. lra. }
  replace (p * (exp (a * t) * exp (a * (e - t))) + (1 - p) * (exp (a * t) * exp (a * (- e - t))))
    with (exp (a * t) * (p * exp (a * (e - t)) + (1 - p) * exp (a * (- e - t)))) by ring.
  replace (exp (a * t)) with (exp (a * t) * 1) at 1 by ring. apply Rmult_le_compat_l; lra.
Qed.

(* ---------------------------------------------------------------- Randomised response is the worst *)

Definition top (e : R) : R := (1 - exp (- e)) / (exp e - exp (- e)).

(* The moment of randomised response: cosh ((a - 1/2) e) / cosh (e / 2). *)
Definition response_moment (e a : R) : R := cosh ((a - / 2) * e) / cosh (e / 2).

Theorem moment_of_response e a :
  moment [true; false] (response e true) (response e false) a = response_moment e a.
Proof.
  unfold moment, response, response_moment. simpl.
  pose proof (exp_pos e) as pe. pose proof (exp_pos (e / 2)) as ph. pose proof (exp_pos (- (e / 2))) as pm.
  replace (exp e / (1 + exp e) / (1 / (1 + exp e))) with (exp e) by (field; lra).
  replace (1 / (1 + exp e) / (exp e / (1 + exp e))) with (exp (- e)) by (rewrite exp_Ropp; field; lra).
  rewrite !Rpower_exp. unfold cosh.
  assert (exp e = exp (e / 2) * exp (e / 2)) as E by (rewrite <- exp_plus; f_equal; field).
  assert (exp (a * e) = exp ((a - / 2) * e) * exp (e / 2)) as F by (rewrite <- exp_plus; f_equal; field).
  assert (exp (a * - e) = exp (- ((a - / 2) * e)) * exp (- (e / 2))) as G by (rewrite <- exp_plus; f_equal; field).
  rewrite E, F, G. rewrite (exp_Ropp (e / 2)). field. split; nra.
Qed.

Theorem response_is_worst {A} (answers : list A) (P Q : A -> R) e a : 0 < e -> 1 <= a ->
  (forall o, 0 < P o) -> (forall o, 0 < Q o) -> sum P answers = 1 -> sum Q answers = 1 -> close e P Q ->
  moment answers P Q a <= response_moment e a.
Proof.
  intros pos Ha Ppos Qpos P1 Q1 near.
  assert (exp (- e) < 1 < exp e) as [lo hi] by (split; rewrite <- exp_0; apply exp_increasing; lra).
  pose proof (exp_pos (- e)) as pm. set (u := exp e) in *. set (l := exp (- e)) in *.
  assert (l * u = 1) as lu by (unfold l, u; rewrite Rmult_comm; apply exp_undo).
  (* Each ratio is a mixture of both ends. *)
  assert (forall o, Q o * Rpower (P o / Q o) a <=
    (P o - Q o * l) / (u - l) * exp (a * e) + (Q o * u - P o) / (u - l) * exp (a * - e)) as each.
  { intros o. specialize (Ppos o). specialize (Qpos o). destruct (near o) as [high low]. fold u in high, low.
    set (r := P o / Q o). assert (0 < r) as rp by (apply Rmult_lt_0_compat; auto; now apply Rinv_0_lt_compat).
    assert (P o = Q o * r) as Pr by (unfold r; field; lra).
    assert (r <= u) by nra. assert (l <= r) by nra.
    set (p := (r - l) / (u - l)).
    assert (0 <= p <= 1) as Hp.
    { unfold p. split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]|].
      apply Rmult_le_reg_r with (u - l); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    pose proof (chord a e (ln r) p Ha) as C. rewrite exp_ln in C by auto. fold u l in C.
    assert (r = p * u + (1 - p) * l) as R1 by (unfold p; field; lra). specialize (C R1 Hp).
    unfold Rpower. rewrite Pr.
    replace ((Q o * r - Q o * l) / (u - l)) with (Q o * p) by (unfold p; field; lra).
    replace ((Q o * u - Q o * r) / (u - l)) with (Q o * (1 - p)) by (unfold p; field; lra).
    replace (Q o * p * exp (a * e) + Q o * (1 - p) * exp (a * - e))
      with (Q o * (p * exp (a * e) + (1 - p) * exp (a * - e))) by ring.
    apply Rmult_le_compat_l; lra. }
  unfold moment. eapply Rle_trans; [apply sum_le; intros o _; apply each|].
  rewrite (sum_ext _ (fun o => P o * ((exp (a * e) - exp (a * - e)) / (u - l)) +
    Q o * ((u * exp (a * - e) - l * exp (a * e)) / (u - l)))) by (intros; field; lra).
  rewrite sum_plus, !sum_scale_right, P1, Q1. right.
  (* The same two ends, of randomised response. *)
  rewrite <- moment_of_response. unfold moment, response. simpl. fold u.
  replace (u / (1 + u) / (1 / (1 + u))) with (exp e) by (fold u; field; lra).
  replace (1 / (1 + u) / (u / (1 + u))) with (exp (- e)) by (fold l; apply Rmult_eq_reg_r with u; [|lra];
    rewrite lu; field; lra).
  rewrite !Rpower_exp. replace l with (/ u) by (apply Rmult_eq_reg_r with u; [|lra]; rewrite lu; field; lra).
  field. repeat split; nra.
Qed.

(* ---------------------------------------------------------------- The bound on its divergence *)

Lemma ln_cosh_bound x y : 0 < x <= y -> ln (cosh y) - ln (cosh x) <= (y * y - x * x) * (tanh x / (2 * x)).
Proof.
  intros [pos le]. set (k := tanh x / (2 * x)).
  enough (0 <= k * (y * y) - ln (cosh y) - (k * (x * x) - ln (cosh x))) by lra.
  apply (above (fun t => k * (t * t) - ln (cosh t) - (k * (x * x) - ln (cosh x)))
    (fun t => k * (t + t) - / cosh t * sinh t) x y); auto; [lra| |].
  - intros t. eapply D_value.
    + apply D_minus; [|apply D_const]. apply D_minus.
      * apply D_mult; [apply D_const | apply D_mult; apply D_id].
      * apply D_ln_of; [apply derivable_pt_lim_cosh | apply cosh_positive].
    + cbv beta. ring.
  - intros t [xt ty]. replace (/ cosh t * sinh t)
      with (tanh t) by (unfold tanh; field; pose proof (cosh_positive t); lra).
    replace (k * (t + t)) with (t * tanh x / x) by (unfold k; field; lra).
    assert (x * tanh t <= t * tanh x) by (apply tanh_shrinks; lra).
    assert (tanh t <= t * tanh x / x); [|lra].
    apply Rmult_le_reg_l with x; auto. replace (x * (t * tanh x / x)) with (t * tanh x) by (field; lra). auto.
Qed.

Theorem response_costs_pure_rho e a : 0 < e -> 1 < a -> ln (response_moment e a) / (a - 1) <= a * pure_rho e.
Proof.
  intros pos Ha. unfold response_moment, pure_rho, pure_rho_divisor.
  assert (ln (cosh ((a - / 2) * e) / cosh (e / 2)) = ln (cosh ((a - / 2) * e)) - ln (cosh (e / 2))) as ->.
  { pose proof (cosh_positive (e / 2)). unfold Rdiv at 1.
    rewrite ln_mult; [|apply cosh_positive | now apply Rinv_0_lt_compat]. rewrite ln_Rinv by auto. reflexivity. }
  assert (0 < e / 2 <= (a - / 2) * e) as order by (split; nra).
  pose proof (ln_cosh_bound (e / 2) ((a - / 2) * e) order) as B.
  replace (((a - / 2) * e * ((a - / 2) * e) - e / 2 * (e / 2)) * (tanh (e / 2) / (2 * (e / 2))))
    with (a * (e * tanh (e / 2)) * (a - 1)) in B by (field; lra).
  apply Rmult_le_reg_r with (a - 1); [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(* Any release of pure epsilon with finitely many answers is (epsilon tanh (epsilon / 2))-zCDP. *)
Theorem pure_costs_pure_rho {A} (answers : list A) (P Q : A -> R) e : 0 < e ->
  (forall o, 0 < P o) -> (forall o, 0 < Q o) -> sum P answers = 1 -> sum Q answers = 1 -> close e P Q ->
  zcdp_bound answers P Q (pure_rho e).
Proof.
  intros pos Ppos Qpos P1 Q1 near a Ha. eapply Rle_trans; [|apply (response_costs_pure_rho e a); auto].
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
  assert (0 < moment answers P Q a) as mp.
  { apply sum_positive.
    - intros o _. apply Rmult_lt_0_compat; auto. apply exp_pos.
    - intros ->. simpl in P1. lra. }
  assert (moment answers P Q a <= response_moment e a) as [lt|eq] by (apply response_is_worst; auto; lra).
  - left. now apply ln_increasing.
  - rewrite eq. lra.
Qed.

(* Counts of which a row changes each by a share of all: shares of at most x that sum to e cost e tanh (x / 2). *)
Theorem shares_cost_less {A} (counts : list A) (share : A -> R) x : (forall c, 0 <= share c <= x) ->
  sum (fun c => pure_rho (share c)) counts <= sum share counts * tanh (x / IZR pure_rho_divisor).
Proof.
  intros H. rewrite <- sum_scale_right. apply sum_le. intros c _. unfold pure_rho, pure_rho_divisor.
  destruct (H c). apply Rmult_le_compat_l; auto. apply tanh_rises. lra.
Qed.

(* The fraction that the code takes for tanh is no less. *)
Theorem tanh_from_above h : 0 <= h ->
  tanh h <= h * (IZR tanh_constant + h * h) / (IZR tanh_constant + IZR tanh_square * (h * h)).
Proof.
  unfold tanh_constant, tanh_square. intros Hh.
  assert (forall x, 0 <= x -> 0 <= (3 + x * x) * sinh x - 3 * (x * cosh x)) as third.
  { intros x Hx. apply (above (fun t => (3 + t * t) * sinh t - 3 * (t * cosh t))
      (fun t => t * (t * cosh t - sinh t)) 0 x); auto.
    - rewrite sinh_0. lra.
    - intros t. derive. ring.
    - intros t Ht. pose proof (sinh_le t). apply Rmult_le_pos; lra. }
  assert (0 <= h * (15 + h * h) * cosh h - (15 + 6 * (h * h)) * sinh h) as fifth.
  { apply (above (fun t => t * (15 + t * t) * cosh t - (15 + 6 * (t * t)) * sinh t)
      (fun t => t * ((3 + t * t) * sinh t - 3 * (t * cosh t))) 0 h); auto.
    - rewrite sinh_0. lra.
    - intros t. derive. ring.
    - intros t Ht. pose proof (third t). apply Rmult_le_pos; lra. }
  pose proof (cosh_positive h). assert (0 < 15 + 6 * (h * h)) by nra. unfold tanh.
  apply Rmult_le_reg_r with (cosh h * (15 + 6 * (h * h))); [nra|].
  replace (sinh h / cosh h * (cosh h * (15 + 6 * (h * h)))) with ((15 + 6 * (h * h)) * sinh h) by (field; lra).
  replace (h * (15 + h * h) / (15 + 6 * (h * h)) * (cosh h * (15 + 6 * (h * h))))
    with (h * (15 + h * h) * cosh h) by (field; lra). lra.
Qed.
