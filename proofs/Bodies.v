(* The number of points of the bodies of SharedHistograms.v: V r points have a gauge of at most r. *)

From Coq Require Import Reals List Lra Lia ZArith.
From Hedgerow Require Import Sums Tables Counts SharedHistograms.
From Hedgerow Require Recursion.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- The ratio of bodies *)

Fixpoint choose (n k : nat) : nat :=
  match n, k with
  | _, O => 1%nat
  | O, S _ => O
  | S n, S k => (choose n k + choose n (S k))%nat
  end.

Lemma choose_zero n : choose n 0 = 1%nat.
Proof. destruct n; reflexivity. Qed.

Lemma choose_few n : forall k, (n < k)%nat -> choose n k = O.
Proof. induction n as [|n IH]; intros [|k] lt; try lia; auto. simpl. rewrite !IH; lia. Qed.

Lemma choose_next n : forall k, (S k * choose n (S k) = (n - k) * choose n k)%nat.
Proof.
  induction n as [|n IH]; intros k; [simpl; lia|]. destruct k as [|k].
  - specialize (IH O). rewrite choose_zero in *. change (choose (S n) 1) with (choose n 0 + choose n 1)%nat.
    rewrite choose_zero. lia.
  - change (choose (S n) (S (S k))) with (choose n (S k) + choose n (S (S k)))%nat.
    pose proof (IH (S k)) as one. pose proof (IH k) as other.
    change (choose (S n) (S k)) with (choose n k + choose n (S k))%nat.
    destruct (Nat.le_gt_cases (S k) n) as [le|gt].
    + replace (S n - S k)%nat with (S (n - S k)) by lia. replace (n - k)%nat with (S (n - S k)) in other by lia. nia.
    + rewrite (choose_few n (S k)) in * by lia. rewrite (choose_few n (S (S k))) by lia.
      replace (S n - S k)%nat with (n - k)%nat by lia. lia.
Qed.

Lemma choose_rises k : forall n m, (n <= m)%nat -> (choose n k <= choose m k)%nat.
Proof.
  intros n m le. induction le as [|m le IH]; auto. destruct k; [rewrite !choose_zero; lia|]. simpl. lia.
Qed.

Lemma sum_reversed f n : sum_f_R0 f n = sum_f_R0 (fun k => f (n - k)%nat) n.
Proof.
  induction n as [|n IH]; [reflexivity|]. rewrite tech5, IH, (decomp_sum (fun k => f (S n - k)%nat)) by lia.
  cbn [pred Nat.sub]. lra.
Qed.

(* V in the binomial basis: its coefficients h are not negative (Stanley), and they read the same backwards. *)
Section Palindrome.
Variables (D start : nat) (h : nat -> R).
Hypothesis h_nonneg : forall k, (k <= D)%nat -> 0 <= h k.
Hypothesis h_palindromic : forall k, (k <= D)%nat -> h k = h (D - k)%nat.
Hypothesis half : (D <= 2 * start)%nat.

Definition volume (r : nat) : R := sum_f_R0 (fun k => h k * INR (choose (r + D - k) D)) D.

Theorem ratio_of_palindrome r : (0 < D)%nat ->
  (INR (S r) - INR start) * (volume (S r) - volume r) <= INR D * volume r.
Proof.
  intros pos. set (U k := INR (choose (r + D - k) (pred D))).
  assert (INR D * volume r - (INR (S r) - INR start) * (volume (S r) - volume r) =
    sum_f_R0 (fun k => h k * ((INR start - INR k) * U k)) D) as E.
  { unfold volume. rewrite <- minus_sum, !scal_sum, <- minus_sum. apply sum_eq. intros k le. unfold U.
    destruct D as [|d]; [lia|]. cbn [pred].
    replace (S r + S d - k)%nat with (S (r + S d - k)) by lia.
    change (choose (S (r + S d - k)) (S d)) with (choose (r + S d - k) d + choose (r + S d - k) (S d))%nat.
    rewrite plus_INR. pose proof (f_equal INR (choose_next (r + S d - k) d)) as next. rewrite !mult_INR in next.
    destruct (Nat.le_gt_cases k (S r)) as [in_reach|beyond].
    - rewrite (minus_INR (r + S d - k) d) in next by lia. rewrite minus_INR in next by lia.
      rewrite plus_INR, !S_INR in *. 
      replace (h k * INR (choose (r + S d - k) (S d)) * (INR d + 1)) with
        (h k * ((INR d + 1) * INR (choose (r + S d - k) (S d)))) by ring. rewrite next. ring.
    - rewrite (choose_few _ d), (choose_few _ (S d)) by lia. simpl. ring. }
  enough (0 <= sum_f_R0 (fun k => h k * ((INR start - INR k) * U k)) D) by lra.
  enough (0 <= sum_f_R0 (fun k => h k * ((INR start - INR k) * U k)) D +
    sum_f_R0 (fun k => h k * ((INR start - INR k) * U k)) D) by lra.
  rewrite (sum_reversed _ D) at 2. rewrite <- plus_sum.
  apply Rle_trans with (sum_f_R0 (fun _ => 0) D); [right; symmetry; apply sum_eq_R0; auto|].
  apply sum_Rle. intros k le. rewrite <- h_palindromic by auto.
  replace (h k * ((INR start - INR k) * U k) + h k * ((INR start - INR (D - k)) * U (D - k)%nat))
    with (h k * ((INR start - INR k) * U k + (INR start - INR (D - k)) * U (D - k)%nat)) by ring.
  apply Rmult_le_pos; [now apply h_nonneg|]. rewrite minus_INR by auto.
  assert (forall i j, (i <= j)%nat -> 0 <= U j <= U i) as falls.
  { intros i j ij. unfold U. split; [apply pos_INR|]. apply le_INR, choose_rises. lia. }
  apply le_INR in half. rewrite mult_INR in half. simpl in half.
  destruct (Nat.le_gt_cases k (D - k)) as [low|high].
  - pose proof (falls _ _ low). assert (INR k <= INR (D - k)) as le' by now apply le_INR.
    rewrite minus_INR in le' by auto. nra.
  - pose proof (falls (D - k)%nat k ltac:(lia)). assert (INR (D - k) <= INR k) as le' by (apply le_INR; lia).
    rewrite minus_INR in le' by auto. nra.
Qed.

End Palindrome.

(* Booleans alone: (r + 1)^D + r^D points. Nothing is cited. *)
Definition boolean_volume (D r : nat) : R := INR (S r) ^ D + INR r ^ D.

Lemma boolean_even D x : 1 <= x ->
  (x - INR D - 1) * (x + 1) ^ D + (x + INR D + 1) * (x - 1) ^ D <= 2 * x * x ^ D.
Proof.
  intros Hx. induction D as [|D IH]; [simpl; lra|].
  assert (0 <= (x + 1) ^ D + (x - 1) ^ D) as pos by (apply Rplus_le_le_0_compat; apply pow_le; lra).
  replace ((x - INR (S D) - 1) * (x + 1) ^ S D + (x + INR (S D) + 1) * (x - 1) ^ S D)
    with (x * ((x - INR D - 1) * (x + 1) ^ D + (x + INR D + 1) * (x - 1) ^ D) -
      (INR D + 2) * ((x + 1) ^ D + (x - 1) ^ D)) by (rewrite S_INR; simpl pow; ring).
  pose proof (pos_INR D). assert (0 <= (INR D + 2) * ((x + 1) ^ D + (x - 1) ^ D)) by (apply Rmult_le_pos; lra).
  apply Rmult_le_compat_l with (r := x) in IH; [|lra]. simpl pow. nra.
Qed.

Lemma boolean_odd D x : 1 <= x ->
  (2 * x - INR D) * ((x + 1) ^ D - (x - 1) ^ D) <= 2 * INR D * (x ^ D + (x - 1) ^ D).
Proof.
  intros Hx. induction D as [|D IH]; [simpl; lra|]. pose proof (boolean_even D x Hx) as E.
  apply Rmult_le_compat_l with (r := x) in IH; [|lra]. rewrite S_INR. simpl pow. nra.
Qed.

Theorem ratio_of_booleans D start i : (D <= 2 * start)%nat ->
  INR (S i) * boolean_volume D (start + S i) <= INR (S i + D) * boolean_volume D (start + i).
Proof.
  intros half. unfold boolean_volume. set (x := INR (S (start + i))). rewrite Nat.add_succ_r. fold x.
  replace (INR (S (S (start + i)))) with (x + 1) by (unfold x; rewrite !S_INR; ring).
  replace (INR (start + i)) with (x - 1) by (unfold x; rewrite !S_INR; ring).
  assert (1 <= x) as Hx by (unfold x; rewrite S_INR; pose proof (pos_INR (start + i)); lra).
  pose proof (boolean_odd D x Hx). apply le_INR in half. rewrite mult_INR in half. simpl in half.
  assert (INR (S i) = x - INR start) as -> by (unfold x; rewrite !S_INR, plus_INR; ring).
  rewrite plus_INR. replace (INR (S i)) with (x - INR start) by (unfold x; rewrite !S_INR, plus_INR; ring).
  assert (0 <= (x + 1) ^ D - (x - 1) ^ D).
  { enough ((x - 1) ^ D <= (x + 1) ^ D) by lra. apply pow_incr. lra. }
  nra.
Qed.

(* ---------------------------------------------------------------- The mechanism *)

(* Of D dimensions the radius starts at half of D, rounded up. *)
Definition least_radius (D : nat) : nat := Nat.div2 (S D).

Lemma least_radius_is_half D : (D <= 2 * least_radius D)%nat.
Proof. unfold least_radius. pose proof (Nat.div2_odd (S D)). destruct (Nat.odd (S D)); cbv [Nat.b2n] in *; lia. Qed.

Lemma rate_is_chance epsilon grid : 0 < epsilon -> (0 < grid)%nat -> 0 < exp (- (epsilon / INR grid)) < 1.
Proof.
  intros pos gpos. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing.
  assert (0 < INR grid) by now apply lt_0_INR. assert (0 < epsilon / INR grid) by (apply Rdiv_lt_0_compat; lra). lra.
Qed.

(* The points of booleans: d blocks of two whole numbers, all with the same sum. Two numbers of sum s whose sizes add up
   to r or less, where r - s is even, are r - i - j and j - i for i = (r - s) / 2 and one j from 0 to r. *)
Fixpoint lists {A} (l : list A) (d : nat) : list (list A) :=
  match d with O => [[]] | S d => flat_map (fun x => map (cons x) (lists l d)) l end.

Definition two_bins (r i j : nat) : list Z := [Z.of_nat r - Z.of_nat i - Z.of_nat j; Z.of_nat j - Z.of_nat i]%Z.
Definition points_of_parity (d r : nat) : list (list (list Z)) :=
  flat_map (fun i => lists (map (two_bins r i) (seq 0 (S r))) d) (seq 0 (S r)).
Definition boolean_ball (d r : nat) : list (list (list Z)) :=
  points_of_parity d r ++ match r with O => [] | S r => points_of_parity d r end.

Definition two_of_sum (s : Z) (b : list Z) : Prop := exists u v, b = [u; v] /\ (u + v = s)%Z.
Definition origin (d : nat) : list (list Z) := repeat [0; 0]%Z d.

Lemma joined_length {A B} (f : A -> list B) n (l : list A) :
  (forall a, length (f a) = n) -> length (flat_map f l) = (length l * n)%nat.
Proof. intros H. induction l as [|a l IH]; simpl; auto. now rewrite app_length, H, IH. Qed.

Lemma lists_length {A} (l : list A) d : length (lists l d) = (length l ^ d)%nat.
Proof.
  induction d as [|d IH]; [reflexivity|]. cbn [lists Nat.pow]. rewrite <- IH.
  apply joined_length. intros. apply map_length.
Qed.

Lemma in_lists {A} (l : list A) d : forall y, In y (lists l d) <-> length y = d /\ Forall (fun x => In x l) y.
Proof.
  induction d as [|d IH]; intros y; cbn [lists].
  - split; [intros [<-|[]]; auto|]. intros [len _]. destruct y; [now left | discriminate].
  - rewrite in_flat_map. split.
    + intros (a & Ha & H). apply in_map_iff in H as (rest & <- & H). apply IH in H as [len all]. simpl. auto.
    + intros [len all]. destruct y as [|a y]; [discriminate|]. inversion all; subst. exists a. split; auto.
      apply in_map. apply IH. auto.
Qed.

Lemma lists_once {A} (l : list A) d : NoDup l -> NoDup (lists l d).
Proof.
  intros once. induction d as [|d IH]; cbn [lists]; [repeat constructor; auto|].
  apply Recursion.NoDup_flat_map; auto.
  - intros a _. apply Recursion.NoDup_map; auto. congruence.
  - intros a b y Ha Hb. apply in_map_iff in Ha as (u & <- & _). apply in_map_iff in Hb as (v & E & _). congruence.
Qed.

Lemma two_bins_sum r i j : two_of_sum (Z.of_nat r - 2 * Z.of_nat i) (two_bins r i j).
Proof. unfold two_bins. do 2 eexists. split; [reflexivity|]. lia. Qed.

Lemma point_of_parity d r y : In y (points_of_parity d r) <-> exists i, (i <= r)%nat /\ length y = d /\
  Forall (fun b => exists j, (j <= r)%nat /\ b = two_bins r i j) y.
Proof.
  unfold points_of_parity. rewrite in_flat_map. split; intros (i & H).
  - exists i. rewrite in_seq in H. destruct H as [Hi H]. apply in_lists in H as [len all]. repeat split; auto; [lia|].
    eapply Forall_impl; [|exact all]. intros b Hb. apply in_map_iff in Hb as (j & <- & Hj). apply in_seq in Hj.
    exists j. split; auto. lia.
  - exists i. destruct H as (Hi & len & all). rewrite in_seq. split; [lia|]. apply in_lists. split; auto.
    eapply Forall_impl; [|exact all]. intros b (j & Hj & ->). apply in_map, in_seq. lia.
Qed.

Lemma gauge_of_blocks r y : (gauge y (origin (length y)) <= r)%nat <->
  Forall (fun b => (distance b [0; 0]%Z <= Z.of_nat r)%Z) y.
Proof.
  unfold origin. induction y as [|b y IH]; simpl gauge; [split; [constructor|lia]|]. split.
  - intros H. constructor; [lia|]. apply IH. lia.
  - intros H. inversion H; subst. apply IH in H3. lia.
Qed.

Theorem boolean_ball_points d r y : (0 < d)%nat -> In y (boolean_ball d r) <->
  length y = d /\ (exists s, Forall (two_of_sum s) y) /\ (gauge y (origin d) <= r)%nat.
Proof.
  intros pos. unfold boolean_ball. rewrite in_app_iff.
  assert (forall r' i, (i <= r')%nat -> (r' <= r)%nat -> length y = d ->
    Forall (fun b => exists j, (j <= r')%nat /\ b = two_bins r' i j) y ->
    length y = d /\ (exists s, Forall (two_of_sum s) y) /\ (gauge y (origin d) <= r)%nat) as inside.
  { intros r' i Hi Hr len all. repeat split; auto.
    - exists (Z.of_nat r' - 2 * Z.of_nat i)%Z. eapply Forall_impl; [|exact all]. intros b (j & _ & ->).
      apply two_bins_sum.
    - rewrite <- len. apply gauge_of_blocks. eapply Forall_impl; [|exact all]. intros b (j & Hj & ->).
      unfold two_bins. simpl. lia. }
  split.
  - intros [H|H].
    + apply point_of_parity in H as (i & Hi & len & all). now apply (inside r i).
    + destruct r as [|r']; [destruct H|]. apply point_of_parity in H as (i & Hi & len & all).
      apply (inside r' i); auto.
  - intros (len & (s & sums) & near). rewrite <- len in near. apply gauge_of_blocks in near.
    destruct y as [|b y]; [simpl in len; lia|].
    assert (Z.abs s <= Z.of_nat r)%Z as s_near.
    { inversion near; subst. inversion sums as [|? ? (u & v & -> & <-)]; subst. simpl in *. lia. }
    pose proof (Z.div_mod (Z.of_nat r - s) 2 ltac:(lia)) as E.
    pose proof (Z.mod_pos_bound (Z.of_nat r - s) 2 ltac:(lia)) as M.
    set (i := Z.to_nat ((Z.of_nat r - s) / 2)).
    assert (forall r', (i <= r')%nat -> (Z.of_nat r' - 2 * Z.of_nat i = s)%Z -> (r' <= r <= S r')%nat ->
      In (b :: y) (points_of_parity d r')) as found.
    { intros r' Hi Hs Hr. apply point_of_parity. exists i. repeat split; auto.
      pose proof (Forall_and sums near) as both. eapply Forall_impl; [|exact both].
      intros a [(u & v & -> & Huv) close]. exists (Z.to_nat (v + Z.of_nat i)). simpl in close. unfold two_bins.
      split; [lia|]. repeat f_equal; lia. }
    destruct (Z.eq_dec ((Z.of_nat r - s) mod 2) 0) as [even|odd].
    + left. apply found; unfold i; lia.
    + right. destruct r as [|r']; [lia|]. apply found; unfold i; lia.
Qed.

Lemma points_of_parity_once d r : (0 < d)%nat -> NoDup (points_of_parity d r).
Proof.
  intros pos. apply Recursion.NoDup_flat_map; [apply seq_NoDup | |].
  - intros i _. apply lists_once. apply Recursion.NoDup_map; [|apply seq_NoDup]. unfold two_bins. intros j k E.
    injection E. lia.
  - intros i k y Hi Hk. apply in_lists in Hi as [len Hi]. apply in_lists in Hk as [_ Hk].
    destruct y as [|b y]; [simpl in len; lia|]. inversion Hi as [|? ? A _]; subst. inversion Hk as [|? ? B _]; subst.
    apply in_map_iff in A as (j & <- & _). apply in_map_iff in B as (l & E & _). unfold two_bins in E. injection E. lia.
Qed.

Theorem boolean_ball_once d r : (0 < d)%nat -> NoDup (boolean_ball d r).
Proof.
  intros pos. unfold boolean_ball. apply Recursion.NoDup_app_disjoint; [now apply points_of_parity_once | |].
  - destruct r; [constructor | now apply points_of_parity_once].
  - intros y H G. destruct r as [|r]; [destruct G|]. apply point_of_parity in H as (i & _ & len & H).
    apply point_of_parity in G as (k & _ & _ & G). destruct y as [|b y]; [simpl in len; lia|].
    inversion H as [|? ? (j & _ & A) _]; subst. inversion G as [|? ? (l & _ & B) _]; subst.
    pose proof (f_equal (hd 0%Z) B). pose proof (f_equal (fun b => nth 1 b 0%Z) B). cbn [two_bins hd nth] in *. lia.
Qed.

Theorem boolean_ball_size d r : INR (length (boolean_ball d r)) = boolean_volume (S d) r.
Proof.
  assert (forall n, length (points_of_parity d n) = (S n ^ S d)%nat) as E.
  { intros n. unfold points_of_parity. rewrite (joined_length _ (S n ^ d)%nat), seq_length; auto.
    intros. now rewrite lists_length, map_length, seq_length. }
  unfold boolean_ball, boolean_volume. rewrite app_length, E, plus_INR, pow_INR. f_equal.
  destruct r as [|r]; [simpl; lra|]. now rewrite E, pow_INR.
Qed.

Lemma boolean_volume_positive D r : 1 <= boolean_volume D r.
Proof.
  unfold boolean_volume. pose proof (pos_INR r). assert (1 <= INR (S r)) by (rewrite S_INR; lra).
  pose proof (pow_R1_Rle (INR (S r)) D H0). pose proof (pow_le (INR r) D H). lra.
Qed.

(* d booleans: D = d + 1 dimensions, and D + 1 geometric numbers with q = exp (- epsilon / grid). *)
Theorem boolean_histograms_private {Row Bin} (same : forall a b : Bin, {a = b} + {a <> b}) grid epsilon
  (attributes : list (attribute (Row := Row))) (pos : 0 < epsilon) (some : (0 < grid)%nat) :
  Forall (fun a => NoDup (snd a)) attributes ->
  let D := S (length attributes) in
  private epsilon (fun T answer => noise (exp (- (epsilon / INR grid))) D (least_radius D) (boolean_volume D)
    (rate_is_chance epsilon grid pos some) (boolean_volume_positive D)
    (gauge answer (histograms same grid attributes T))).
Proof.
  intros once D. apply shared_histograms_private; auto. intros i. apply ratio_of_booleans, least_radius_is_half.
Qed.

(* Attributes with any number of bins: the theorems of Ehrhart, Macdonald and Stanley, which are not proven here, give
   the number of points this form. *)
Theorem palindromic_ratio D h i : (0 < D)%nat -> (forall k, (k <= D)%nat -> 0 <= h k) ->
  (forall k, (k <= D)%nat -> h k = h (D - k)%nat) ->
  INR (S i) * volume D h (least_radius D + S i) <= INR (S i + D) * volume D h (least_radius D + i).
Proof.
  intros pos nonneg mirror. set (c := least_radius D).
  pose proof (ratio_of_palindrome D c h nonneg mirror (least_radius_is_half D) (c + i) pos) as le.
  replace (c + S i)%nat with (S (c + i)) by lia. rewrite plus_INR.
  replace (INR (S (c + i)) - INR c) with (INR (S i)) in le by (rewrite !S_INR, plus_INR; ring). lra.
Qed.

Theorem palindromic_histograms_private {Row Bin} (same : forall a b : Bin, {a = b} + {a <> b}) grid epsilon
  (attributes : list (attribute (Row := Row))) D h (pos : 0 < epsilon) (some : (0 < grid)%nat)
  (positive : forall r, 1 <= volume D h r) :
  (0 < D)%nat -> (forall k, (k <= D)%nat -> 0 <= h k) -> (forall k, (k <= D)%nat -> h k = h (D - k)%nat) ->
  Forall (fun a => NoDup (snd a)) attributes ->
  private epsilon (fun T answer => noise (exp (- (epsilon / INR grid))) D (least_radius D) (volume D h)
    (rate_is_chance epsilon grid pos some) positive (gauge answer (histograms same grid attributes T))).
Proof.
  intros Dpos nonneg mirror once. apply shared_histograms_private; auto. intros i. now apply palindromic_ratio.
Qed.
