(* Signs of functions from those of their derivatives, and hyperbolic functions: what PureRho.v uses. *)

From Coq Require Import Reals List Lra Lia.
From Hedgerow Require Import Sums.
Open Scope R_scope.

Lemma rising (f g : R -> R) a b : a <= b -> (forall t, derivable_pt_lim f t (g t)) ->
  (forall t, a <= t <= b -> 0 <= g t) -> f a <= f b.
Proof.
  intros [lt|eq] D pos; [|subst; lra].
  destruct (MVT_cor2 f g a b lt (fun t _ => D t)) as (c & E & inside).
  assert (0 <= g c) by (apply pos; lra). nra.
Qed.

Lemma above (f g : R -> R) a b : a <= b -> 0 <= f a -> (forall t, derivable_pt_lim f t (g t)) ->
  (forall t, a <= t <= b -> 0 <= g t) -> 0 <= f b.
Proof. intros le start D pos. eapply Rle_trans; [exact start|]. eapply rising; eauto. Qed.

Lemma cosh_positive x : 0 < cosh x.
Proof. unfold cosh. pose proof (exp_pos x). pose proof (exp_pos (- x)). lra. Qed.

Lemma sinh_nonneg x : 0 <= x -> 0 <= sinh x.
Proof. intros H. unfold sinh. assert (exp (- x) <= exp x) by (apply exp_le; lra). lra. Qed.

Lemma square_difference x : cosh x * cosh x - sinh x * sinh x = 1.
Proof.
  unfold cosh, sinh. pose proof (exp_undo x). replace ((exp x + exp (- x)) / 2 * ((exp x + exp (- x)) / 2) -
    (exp x - exp (- x)) / 2 * ((exp x - exp (- x)) / 2)) with (exp x * exp (- x)) by field. auto.
Qed.

Lemma D_id t : derivable_pt_lim (fun x => x) t 1.
Proof. apply derivable_pt_lim_id. Qed.

Lemma D_mult f g t a b : derivable_pt_lim f t a -> derivable_pt_lim g t b ->
  derivable_pt_lim (fun x => f x * g x) t (a * g t + f t * b).
Proof. intros F G. exact (derivable_pt_lim_mult f g t a b F G). Qed.

Lemma D_plus f g t a b : derivable_pt_lim f t a -> derivable_pt_lim g t b ->
  derivable_pt_lim (fun x => f x + g x) t (a + b).
Proof. intros F G. exact (derivable_pt_lim_plus f g t a b F G). Qed.

Lemma D_minus f g t a b : derivable_pt_lim f t a -> derivable_pt_lim g t b ->
  derivable_pt_lim (fun x => f x - g x) t (a - b).
Proof. intros F G. exact (derivable_pt_lim_minus f g t a b F G). Qed.

Lemma D_const c t : derivable_pt_lim (fun _ => c) t 0.
Proof. exact (derivable_pt_lim_const c t). Qed.

Lemma D_div f g t a b : derivable_pt_lim f t a -> derivable_pt_lim g t b -> g t <> 0 ->
  derivable_pt_lim (fun x => f x / g x) t ((a * g t - b * f t) / Rsqr (g t)).
Proof. intros F G H. exact (derivable_pt_lim_div f g t a b F G H). Qed.

Lemma D_ln_of f t a : derivable_pt_lim f t a -> 0 < f t -> derivable_pt_lim (fun x => ln (f x)) t (/ f t * a).
Proof. intros F H. exact (derivable_pt_lim_comp f ln t a (/ f t) F (derivable_pt_lim_ln (f t) H)). Qed.

Lemma D_value f t a b : derivable_pt_lim f t a -> a = b -> derivable_pt_lim f t b.
Proof. intros H <-. exact H. Qed.

Ltac derive := eapply D_value;
  [repeat first [apply D_id | apply derivable_pt_lim_sinh | apply derivable_pt_lim_cosh | apply D_const
                | apply D_minus | apply D_plus | apply D_mult] | cbv beta].

(* sinh x <= x cosh x, and x <= sinh x, for x >= 0. *)
Lemma sinh_le x : 0 <= x -> sinh x <= x * cosh x.
Proof.
  intros H. apply Rminus_le, Ropp_le_cancel. rewrite Ropp_0, Ropp_minus_distr.
  apply (above (fun t => t * cosh t - sinh t) (fun t => t * sinh t) 0 x); auto.
  - rewrite sinh_0. lra.
  - intros t. derive. ring.
  - intros t Ht. apply Rmult_le_pos; [lra | apply sinh_nonneg; lra].
Qed.

Lemma cosh_at_least_one x : 1 <= cosh x.
Proof. pose proof (square_difference x). pose proof (cosh_positive x). nra. Qed.

Lemma sinh_ge x : 0 <= x -> x <= sinh x.
Proof.
  intros H. apply Rminus_le, Ropp_le_cancel. rewrite Ropp_0, Ropp_minus_distr.
  apply (above (fun t => sinh t - t) (fun t => cosh t - 1) 0 x); auto.
  - rewrite sinh_0. lra.
  - intros t. derive. ring.
  - intros t Ht. pose proof (cosh_at_least_one t). lra.
Qed.

Lemma D_tanh t : derivable_pt_lim tanh t (/ (cosh t * cosh t)).
Proof.
  eapply D_value; [apply (D_div sinh cosh); [apply derivable_pt_lim_sinh | apply derivable_pt_lim_cosh |]|].
  - pose proof (cosh_positive t). lra.
  - pose proof (square_difference t). pose proof (cosh_positive t). unfold Rsqr.
    replace (cosh t * cosh t - sinh t * sinh t) with 1 by lra. unfold Rdiv. lra.
Qed.

Lemma cosh_rises x y : 0 <= x <= y -> cosh x <= cosh y.
Proof.
  intros H. apply (rising cosh sinh); [lra | apply derivable_pt_lim_cosh |].
  intros t Ht. apply sinh_nonneg; lra.
Qed.

Theorem tanh_rises x y : x <= y -> tanh x <= tanh y.
Proof.
  intros H. apply (rising tanh (fun t => / (cosh t * cosh t))); auto using D_tanh.
  intros t _. left. apply Rinv_0_lt_compat. pose proof (cosh_positive t). nra.
Qed.

(* tanh x / x falls. *)
Lemma tanh_shrinks x y : 0 < x <= y -> x * tanh y <= y * tanh x.
Proof.
  intros [pos le].
  apply Rminus_le, Ropp_le_cancel. rewrite Ropp_0, Ropp_minus_distr.
  apply (above (fun t => t * tanh x - x * tanh t) (fun t => tanh x - x * / (cosh t * cosh t)) x y); auto.
  - lra.
  - intros t. eapply D_value; [apply D_minus; apply D_mult;
      [apply D_id | apply D_const | apply D_const | apply D_tanh]|]. lra.
  - intros t Ht. pose proof (cosh_positive x) as cx. pose proof (cosh_positive t) as ct.
    assert (cosh x <= cosh t) by (apply cosh_rises; lra).
    assert (x <= sinh x) by (apply sinh_ge; lra). pose proof (cosh_at_least_one x).
    assert (/ (cosh t * cosh t) <= / (cosh x * cosh x)) by (apply Rinv_le_contravar; nra).
    assert (x * / (cosh x * cosh x) <= tanh x).
    { unfold tanh. apply Rmult_le_reg_r with (cosh x * cosh x); [nra|].
      replace (x * / (cosh x * cosh x) * (cosh x * cosh x)) with x by (field; lra).
      replace (sinh x / cosh x * (cosh x * cosh x)) with (sinh x * cosh x) by (field; lra). nra. }
    assert (x * / (cosh t * cosh t) <= x * / (cosh x * cosh x)) by (apply Rmult_le_compat_l; lra). lra.
Qed.
