(* Histograms of several attributes with noise from one body: the section "Histograms of several attributes" of
   docs/mathematics.md (src/hedgerow/privacy/shared_histograms.py: SharedHistograms).

   The answer is counts + Y. The radius of Y is `start` plus a sum of D + 1 independent geometric numbers; given the
   radius R, Y is uniform on the V R points of a lattice whose gauge is at most R. Answers outside the lattice of the
   counts are impossible for every table. For all others the chances on neighbouring tables are compared here. Bodies.v
   shows which V are possible. *)

From Coq Require Import Reals List Lra Lia ZArith.
From Hedgerow Require Import Constants Sums Tables Counts Geometrics.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- Gauges *)

(* How far an answer is from the counts: over the attributes, the largest distance in l1. *)
Fixpoint gauge (answer counts : list (list Z)) : nat :=
  match answer, counts with
  | a :: answer, c :: counts => Nat.max (Z.to_nat (distance a c)) (gauge answer counts)
  | _, _ => O
  end.

Lemma distance_nonneg a : forall b, (0 <= distance a b)%Z.
Proof. induction a as [|x a IH]; intros [|y b]; simpl; try lia. specialize (IH b). lia. Qed.

Lemma distance_triangle a : forall c d, length c = length d -> (distance a c <= distance a d + distance c d)%Z.
Proof.
  induction a as [|x a IH]; intros [|y c] [|z d] len; simpl in *; try discriminate; try lia.
  - pose proof (distance_nonneg c d). lia.
  - injection len as len. specialize (IH c d len). lia.
Qed.

Section Gauges.
Context {Row Bin : Type}.
Variables (same : forall a b : Bin, {a = b} + {a <> b}).

(* An attribute: the bin of each row, and the bins that are counted. *)
Definition attribute : Type := ((Row -> Bin) * list Bin)%type.

(* The histograms of all attributes, in steps of 1 / grid. *)
Definition histograms (grid : nat) (attributes : list attribute) (T : table Row) : list (list Z) :=
  map (fun a => map (Z.mul (Z.of_nat grid)) (histogram (fst a) same (snd a) T)) attributes.

Lemma distance_scaled f c : forall d, (0 <= f)%Z -> distance (map (Z.mul f) c) (map (Z.mul f) d) = (f * distance c d)%Z.
Proof. induction c as [|x c IH]; intros [|y d] pos; simpl; try lia. rewrite IH by auto. nia. Qed.

Lemma gauge_moves grid attributes x D E : Forall (fun a => NoDup (snd a)) attributes -> adds x D E -> forall answer,
  (gauge answer (histograms grid attributes D) <= gauge answer (histograms grid attributes E) + grid)%nat /\
  (gauge answer (histograms grid attributes E) <= gauge answer (histograms grid attributes D) + grid)%nat.
Proof.
  intros once add. induction once as [|a attributes nd _ IH]; intros [|b answer]; simpl; try lia.
  specialize (IH answer). set (h := histogram (fst a) same (snd a)).
  pose proof (histogram_moves_by_one (fst a) same (snd a) x D E nd add) as one. fold h in one.
  assert (length (h D) = length (h E)) as len by (unfold h, histogram; now rewrite !map_length).
  set (m := map (Z.mul (Z.of_nat grid))).
  assert (length (m (h D)) = length (m (h E))) as mlen by (unfold m; now rewrite !map_length).
  pose proof (distance_triangle b _ _ mlen) as down. pose proof (distance_triangle b _ _ (eq_sym mlen)) as up.
  rewrite (distance_sym (m (h E))) in up. unfold m at 3 4 in up. unfold m at 3 4 in down.
  rewrite distance_scaled in up, down by lia. unfold histogram_sensitivity in one.
  assert (Z.of_nat grid * distance (h D) (h E) <= Z.of_nat grid)%Z by nia. unfold m in *. lia.
Qed.

End Gauges.

(* ---------------------------------------------------------------- The draw *)

Section Draw.
Variables (q : R) (D start : nat) (V : nat -> R).
Hypothesis Hq : 0 < q < 1.
Hypothesis V_positive : forall r, 1 <= V r.
(* The bodies do not grow faster than the radius's law of D + 1 geometric numbers allows. *)
Hypothesis ratio : forall i, INR (S i) * V (start + S i)%nat <= INR (S i + D) * V (start + i)%nat.

(* The chance of a point of gauge r, by way of the radius start + i. *)
Definition way (r i : nat) : R := if (r <=? start + i)%nat then geometrics q D i / V (start + i)%nat else 0.

Lemma way_bounds r i : 0 <= way r i <= geometrics q D i.
Proof.
  unfold way. pose proof (geometrics_nonneg q D i Hq). pose proof (V_positive (start + i)).
  destruct (r <=? start + i)%nat; [|lra]. assert (0 < / V (start + i)%nat <= 1).
  { split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  unfold Rdiv. nra.
Qed.

Lemma way_falls r i : way (S r) i <= way r i.
Proof.
  pose proof (way_bounds r i). unfold way in *.
  destruct (Nat.leb_spec (S r) (start + i)); destruct (Nat.leb_spec r (start + i)); try lia; lra.
Qed.

Lemma way_rises r i : q * way r i <= way (S r) (S i).
Proof.
  unfold way. destruct (Nat.leb_spec r (start + i)); destruct (Nat.leb_spec (S r) (start + S i)); try lia;
    [|lra]. pose proof (ratio i) as le. pose proof (V_positive (start + i)). pose proof (V_positive (start + S i)).
  pose proof (geometrics_ratio q D i) as E. pose proof (geometrics_nonneg q D i Hq).
  assert (0 < INR (S i)) by (apply lt_0_INR; lia).
  apply Rmult_le_reg_r with (V (start + i)%nat * (INR (S i) * V (start + S i)%nat)).
  { apply Rmult_lt_0_compat; [lra|]. apply Rmult_lt_0_compat; lra. }
  replace (q * (geometrics q D i / V (start + i)%nat) * (V (start + i)%nat * (INR (S i) * V (start + S i)%nat)))
    with (q * geometrics q D i * (INR (S i) * V (start + S i)%nat)) by (field; lra).
  replace (geometrics q D (S i) / V (start + S i)%nat * (V (start + i)%nat * (INR (S i) * V (start + S i)%nat)))
    with (q * geometrics q D i * (INR (S i + D) * V (start + i)%nat))
    by (replace (q * geometrics q D i * (INR (S i + D) * V (start + i)%nat))
      with (q * (INR (S i + D) * geometrics q D i) * V (start + i)%nat) by ring; rewrite <- E; field; lra).
  apply Rmult_le_compat_l; auto. apply Rmult_le_pos; lra.
Qed.

Lemma noise_exists r : { p | Un_cv (sum_f_R0 (way r)) p }.
Proof.
  apply growing_cv.
  - intros n. rewrite tech5. pose proof (way_bounds r (S n)). lra.
  - exists 1. intros x [n ->]. apply Rle_trans with (total_to q D n).
    + apply sum_Rle. intros i _. apply way_bounds.
    + apply (growing_ineq (total_to q D)); [|now apply radius_is_distribution].
      intros m. unfold total_to. rewrite tech5. pose proof (geometrics_nonneg q D (S m) Hq). lra.
Qed.

(* The chance of a point of gauge r. *)
Definition noise (r : nat) : R := proj1_sig (noise_exists r).

Theorem noise_is_limit r : Un_cv (sum_f_R0 (way r)) (noise r).
Proof. exact (proj2_sig (noise_exists r)). Qed.

Theorem noise_ratio r : q * noise r <= noise (S r) <= noise r.
Proof.
  split.
  - assert (Un_cv (fun n => sum_f_R0 (way (S r)) (S n)) (noise (S r))) as next.
    { intros eps pos. destruct (noise_is_limit (S r) eps pos) as [N HN]. exists N. intros n Hn. apply HN. lia. }
    refine (Rle_cv_lim _ (CV_mult _ _ _ _ (cv_const q) (noise_is_limit r)) next). intros n.
    rewrite (decomp_sum _ (S n)) by lia. rewrite scal_sum. pose proof (way_bounds (S r) 0) as [first _].
    rewrite <- (Rplus_0_l (sum_f_R0 _ n)). apply Rplus_le_compat; auto.
    apply sum_Rle. intros i _. rewrite Rmult_comm. apply way_rises.
  - refine (Rle_cv_lim _ (noise_is_limit (S r)) (noise_is_limit r)). intros n. apply sum_Rle. intros i _.
    apply way_falls.
Qed.

Lemma noise_nonneg r : 0 <= noise r.
Proof.
  refine (Rle_cv_lim _ (cv_const 0) (noise_is_limit r)). intros n. apply cond_pos_sum. intros i. apply way_bounds.
Qed.

(* Gauges that differ by at most k. *)
Lemma noise_shift k : forall r s, (s <= r + k)%nat -> noise r <= (/ q) ^ k * noise s.
Proof.
  assert (1 <= / q) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  assert (forall r n, noise (r + n) <= noise r) as falls.
  { intros r n. induction n as [|n IH]; [rewrite Nat.add_0_r; lra|]. rewrite Nat.add_succ_r.
    pose proof (noise_ratio (r + n)). lra. }
  induction k as [|k IH]; intros r s le.
  - replace r with (s + (r - s))%nat by lia. simpl. rewrite Rmult_1_l. apply falls.
  - destruct (Nat.le_gt_cases s (r + k)) as [near|far].
    + specialize (IH r s near). pose proof (noise_nonneg s). pose proof (pow_R1_Rle (/ q) k H) as P.
      simpl. assert ((/ q) ^ k * noise s <= / q * ((/ q) ^ k * noise s)); [|lra].
      assert (0 <= (/ q) ^ k * noise s) by (apply Rmult_le_pos; lra). nra.
    + replace s with (S (r + k)) by lia. pose proof (noise_ratio (r + k)) as [up _].
      assert (noise (r + k) <= / q * noise (S (r + k))).
      { apply Rmult_le_reg_l with q; [lra|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l; lra. }
      specialize (IH r (r + k)%nat (Nat.le_refl _)). pose proof (pow_R1_Rle (/ q) k H).
      simpl. eapply Rle_trans; [exact IH|]. rewrite (Rmult_comm (/ q)), Rmult_assoc.
      apply Rmult_le_compat_l; lra.
Qed.

(* epsilon on a grid of 1 / grid: a row moves the gauge by at most `grid`, each step of which costs epsilon / grid. *)
Theorem shared_histograms_private {Row Bin} (same : forall a b : Bin, {a = b} + {a <> b}) grid epsilon
  (attributes : list (attribute (Row := Row))) :
  (0 < grid)%nat -> q = exp (- (epsilon / INR grid)) -> Forall (fun a => NoDup (snd a)) attributes ->
  private epsilon (fun T answer => noise (gauge answer (histograms same grid attributes T))).
Proof.
  intros pos rate once x A B add answer.
  assert ((/ q) ^ grid = exp epsilon) as <-.
  { rewrite rate, <- exp_Ropp, Ropp_involutive. rewrite <- Rpower_pow by apply exp_pos. unfold Rpower.
    rewrite ln_exp. f_equal. field. apply not_0_INR. lia. }
  destruct (gauge_moves same grid attributes x A B once add answer). split; apply noise_shift; lia.
Qed.

End Draw.
