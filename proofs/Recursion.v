(* The recursion over all models: the sections "One draw from all models" and "The normaliser" of docs/mathematics.md
   (src/hedgerow/learn/search/lattice.py, src/hedgerow/learn/search/sampler.py, src/hedgerow/learn/search/semirings.py).

   A state says which options are open and how likely it is to stop; what the code keeps, a set of sides and its depth, is
   one kind of state. A leaf has one of the values, an option catches some rows and leaves the others. *)

From Coq Require Import Reals List Lra Lia ZArith.
From Hedgerow Require Import Constants Sums Tables ExponentialMechanism.
Import ListNotations.
Open Scope R_scope.

Section Models.
Context {Row Option Value State : Type}.
Variables (values : list Value) (catches : Option -> Row -> bool) (row_loss : Row -> Value -> R).
Variables (open : State -> list Option) (on_caught on_left : State -> Option -> State).
Variables (w : R) (stop : State -> R).
Hypothesis some_values : values <> [].
Hypothesis stop_between : forall s, 0 < stop s < 1.

Definition caught (o : Option) (D : table Row) := filter (catches o) D.
Definition left (o : Option) (D : table Row) := filter (fun r => negb (catches o r)) D.

Definition n_values : R := INR (length values).
Definition n_open (s : State) : R := INR (length (open s)).

(* omega of the docs: the mean over values of exp (- w * loss). *)
Definition leaf_weight (D : table Row) (v : Value) : R := exp (- w * total row_loss D v) / n_values.
Definition leaf (D : table Row) : R := sum (leaf_weight D) values.

(* The chances to stop and to take one of the open options; where none is open a state is a leaf. *)
Definition stopping (s : State) : R := match open s with [] => 1 | _ => stop s end.
Definition going (s : State) : R := match open s with [] => 0 | _ => (1 - stop s) / n_open s end.

Lemma n_values_positive : 0 < n_values.
Proof. unfold n_values. apply lt_0_INR. destruct values; [congruence | simpl; lia]. Qed.

Lemma leaf_weight_positive D v : 0 < leaf_weight D v.
Proof. apply Rmult_lt_0_compat; [apply exp_pos | apply Rinv_0_lt_compat, n_values_positive]. Qed.

Lemma leaf_positive D : 0 < leaf D.
Proof. apply sum_positive; auto. intros. apply leaf_weight_positive. Qed.

Lemma leaf_of_no_rows : leaf [] = 1.
Proof.
  unfold leaf, leaf_weight, total. simpl.
  rewrite (sum_ext _ (fun _ => / n_values)); [|intros; rewrite Rmult_0_r, exp_0; lra].
  rewrite sum_constant. apply Rinv_r. pose proof n_values_positive. unfold n_values in *. lra.
Qed.

Lemma stopping_positive s : 0 < stopping s.
Proof. unfold stopping. pose proof (stop_between s). destruct (open s); lra. Qed.

Lemma going_nonneg s : 0 <= going s.
Proof.
  unfold going, n_open. pose proof (stop_between s). destruct (open s) as [|o l]; [lra|].
  apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat, lt_0_INR. simpl; lia.
Qed.

Lemma stop_or_go s : stopping s + going s * n_open s = 1.
Proof.
  unfold stopping, going, n_open. destruct (open s) as [|o l]; [simpl; lra|].
  field. apply not_0_INR. simpl; lia.
Qed.

Lemma split_loss (f : Row -> R) o D : sum f D = sum f (caught o D) + sum f (left o D).
Proof. induction D as [|r D IH]; simpl; [lra|]. rewrite IH. destruct (catches o r); simpl; lra. Qed.

(* ---------------------------------------------------------------- Trees *)

Inductive tree := Leaf (v : Value) | Node (o : Option) (if_caught if_left : tree).

Fixpoint predict (t : tree) (r : Row) : Value :=
  match t with Leaf v => v | Node o a b => if catches o r then predict a r else predict b r end.

(* The loss of a tree: what each row loses under the value that it is given. *)
Definition tree_loss (D : table Row) (t : tree) : R := total (fun r t => row_loss r (predict t r)) D t.

(* All trees of at most so many choices on a path, each once. *)
Fixpoint trees (depth : nat) (s : State) : list tree :=
  map Leaf values ++
  match depth with
  | O => []
  | S d => flat_map (fun o => flat_map (fun a => map (Node o a) (trees d (on_left s o))) (trees d (on_caught s o)))
    (open s)
  end.

Fixpoint tree_prior (depth : nat) (s : State) (t : tree) : R :=
  match depth, t with
  | O, Leaf _ => / n_values
  | O, Node _ _ _ => 0
  | S d, Leaf _ => stopping s / n_values
  | S d, Node o a b => going s * tree_prior d (on_caught s o) a * tree_prior d (on_left s o) b
  end.

(* The recursion. *)
Fixpoint tree_value (depth : nat) (s : State) (D : table Row) : R :=
  match depth with
  | O => leaf D
  | S d => stopping s * leaf D
      + going s * sum (fun o => tree_value d (on_caught s o) (caught o D) * tree_value d (on_left s o) (left o D))
          (open s)
  end.

Definition tree_weight depth s D t : R := tree_prior depth s t * exp (- w * tree_loss D t).

Lemma tree_loss_node o a b D : tree_loss D (Node o a b) = tree_loss (caught o D) a + tree_loss (left o D) b.
Proof.
  unfold tree_loss, total. rewrite (split_loss _ o D).
    f_equal; apply sum_ext; intros r H; apply filter_In in H as [_ H];
    simpl; [|apply Bool.negb_true_iff in H]; rewrite H; reflexivity.
Qed.

Lemma leaves_weigh depth s D :
  sum (tree_weight depth s D) (map Leaf values) = match depth with O => leaf D | S _ => stopping s * leaf D end.
Proof.
  rewrite sum_map. unfold leaf. destruct depth.
  - apply sum_ext. intros v _. unfold tree_weight, leaf_weight, tree_loss. simpl. unfold Rdiv. apply Rmult_comm.
  - rewrite <- sum_scale. apply sum_ext. intros v _. unfold tree_weight, leaf_weight, tree_loss. simpl.
    unfold total. simpl. lra.
Qed.

Lemma node_weighs d s D o a b :
  tree_weight (S d) s D (Node o a b) =
  going s * (tree_weight d (on_caught s o) (caught o D) a * tree_weight d (on_left s o) (left o D) b).
Proof.
  unfold tree_weight. rewrite tree_loss_node. simpl tree_prior.
  replace (- w * (tree_loss (caught o D) a + tree_loss (left o D) b))
    with (- w * tree_loss (caught o D) a + - w * tree_loss (left o D) b) by lra.
  rewrite exp_plus. lra.
Qed.

(* The value of the recursion is the sum over all trees of prior * exp (- w * loss). *)
Theorem tree_recursion depth : forall s D, tree_value depth s D = sum (tree_weight depth s D) (trees depth s).
Proof.
  induction depth as [|d IH]; intros s D.
  - simpl. rewrite app_nil_r, leaves_weigh. reflexivity.
  - simpl trees. rewrite sum_app, leaves_weigh. simpl tree_value. f_equal.
    rewrite sum_flat_map, <- sum_scale. apply sum_ext. intros o _.
    rewrite sum_flat_map, !IH. rewrite <- sum_scale_right, <- sum_scale. apply sum_ext. intros a _.
    rewrite sum_map. rewrite (sum_ext _ _ _ (fun b _ => node_weighs d s D o a b)).
    rewrite !sum_scale. reflexivity.
Qed.

(* Where no rows are left the prior's total of 1 stands for whatever may still be chosen. *)
Theorem tree_value_of_no_rows depth : forall s, tree_value depth s [] = 1.
Proof.
  induction depth as [|d IH]; intros s; simpl; rewrite leaf_of_no_rows; auto.
  rewrite (sum_ext _ (fun _ => 1)); [|intros; rewrite !IH; lra].
  rewrite sum_constant. pose proof (stop_or_go s). unfold n_open in *. lra.
Qed.

Lemma tree_prior_nonneg depth : forall s t, 0 <= tree_prior depth s t.
Proof.
  pose proof n_values_positive as pos. pose proof (Rinv_0_lt_compat _ pos).
  induction depth as [|d IH]; intros s [v|o a b]; simpl; try lra.
  - pose proof (stopping_positive s). unfold Rdiv. nra.
  - repeat apply Rmult_le_pos; auto. apply going_nonneg.
Qed.

Theorem tree_prior_is_distribution depth s : is_distribution (trees depth s) (tree_prior depth s).
Proof.
  split; [apply tree_prior_nonneg|]. rewrite <- (tree_value_of_no_rows depth s), tree_recursion.
  apply sum_ext. intros t _. unfold tree_weight, tree_loss, total. simpl. rewrite Rmult_0_r, exp_0. lra.
Qed.

(* No tree is counted twice, and none is left out. *)
Fixpoint fits (depth : nat) (s : State) (t : tree) : Prop :=
  match t with
  | Leaf v => In v values
  | Node o a b => match depth with
      | O => False
      | S d => In o (open s) /\ fits d (on_caught s o) a /\ fits d (on_left s o) b
      end
  end.

Theorem trees_are_all depth : forall s t, In t (trees depth s) <-> fits depth s t.
Proof.
  induction depth as [|d IH]; intros s t; simpl trees; rewrite in_app_iff, in_map_iff.
  - destruct t as [v|o a b]; simpl; split.
    + intros [[u [E H]]|[]]. injection E as ->. auto.
    + intros H. left. eauto.
    + intros [[u [E H]]|[]]. discriminate.
    + contradiction.
  - destruct t as [v|o a b]; simpl; split.
    + intros [[u [E H]]|H]; [injection E as ->; auto|].
      apply in_flat_map in H as (o & _ & H). apply in_flat_map in H as (a & _ & H).
      apply in_map_iff in H as (b & E & _). discriminate.
    + intros H. left. eauto.
    + intros [[u [E H]]|H]; [discriminate|].
      apply in_flat_map in H as (p & Hp & H). apply in_flat_map in H as (a' & Ha & H).
      apply in_map_iff in H as (b' & E & Hb). injection E as -> -> ->. rewrite <- !IH. auto.
    + intros (Ho & Ha & Hb). right. apply in_flat_map. exists o. split; auto.
      apply in_flat_map. exists a. rewrite IH. split; auto. apply in_map. now apply IH.
Qed.

Lemma NoDup_app_disjoint {A} (l m : list A) :
  NoDup l -> NoDup m -> (forall a, In a l -> ~ In a m) -> NoDup (l ++ m).
Proof.
  induction 1 as [|a l not_in nd IH]; simpl; intros Hm dis; auto. constructor.
  - rewrite in_app_iff. intros [H|H]; [auto|]. apply (dis a); simpl; auto.
  - apply IH; auto; intros b Hb; apply dis; simpl; auto.
Qed.

Lemma NoDup_flat_map {A B} (f : A -> list B) (l : list A) :
  NoDup l -> (forall a, In a l -> NoDup (f a)) -> (forall a b c, In c (f a) -> In c (f b) -> a = b) ->
    NoDup (flat_map f l).
Proof.
  induction 1 as [|a l not_in nd IH]; simpl; intros each apart; [constructor|].
  apply NoDup_app_disjoint; auto. intros c Hc H. apply in_flat_map in H as (b & Hb & Hcb).
  rewrite (apart a b c Hc Hcb) in not_in. auto.
Qed.

Lemma NoDup_map {A B} (f : A -> B) (l : list A) : (forall a b, f a = f b -> a = b) -> NoDup l -> NoDup (map f l).
Proof.
  intros inj. induction 1 as [|a l not_in nd IH]; simpl; constructor; auto.
  rewrite in_map_iff. intros (b & E & H). apply inj in E. subst. auto.
Qed.

Theorem trees_are_once depth : NoDup values -> (forall s, NoDup (open s)) -> forall s, NoDup (trees depth s).
Proof.
  intros nv no. induction depth as [|d IH]; intros s; simpl.
  - rewrite app_nil_r. apply NoDup_map; auto; congruence.
  - apply NoDup_app_disjoint.
    + apply NoDup_map; auto; congruence.
    + apply NoDup_flat_map; auto.
      * intros o _. apply NoDup_flat_map; auto.
        -- intros a _. apply NoDup_map; auto; congruence.
        -- intros a b c Ha Hb. apply in_map_iff in Ha as (? & <- & _). apply in_map_iff in Hb as (? & E & _).
             congruence.
      * intros o p c Ho Hp. apply in_flat_map in Ho as (? & _ & Ho). apply in_flat_map in Hp as (? & _ & Hp).
        apply in_map_iff in Ho as (? & <- & _). apply in_map_iff in Hp as (? & E & _). congruence.
    + intros t Ht H. apply in_map_iff in Ht as (v & <- & _).
      apply in_flat_map in H as (? & _ & H). apply in_flat_map in H as (? & _ & H).
      apply in_map_iff in H as (? & E & _). discriminate.
Qed.

(* Drawing down the recursion: first whether to stop or which option to take, in proportion to their values, then the
   value of a leaf, or both sides of the option. *)
Definition value_chance (D : table Row) (v : Value) : R := leaf_weight D v / leaf D.

Fixpoint walk_tree (depth : nat) (s : State) (D : table Row) (t : tree) : R :=
  match depth, t with
  | O, Leaf v => value_chance D v
  | O, Node _ _ _ => 0
  | S d, Leaf v => stopping s * leaf D / tree_value (S d) s D * value_chance D v
  | S d, Node o a b =>
      going s * (tree_value d (on_caught s o) (caught o D) * tree_value d (on_left s o) (left o D)) / tree_value
        (S d) s D
      * walk_tree d (on_caught s o) (caught o D) a * walk_tree d (on_left s o) (left o D) b
  end.

Lemma tree_value_positive depth : forall s D, 0 < tree_value depth s D.
Proof.
  induction depth as [|d IH]; intros s D; simpl; [apply leaf_positive|].
  apply Rplus_lt_le_0_compat; [apply Rmult_lt_0_compat; [apply stopping_positive | apply leaf_positive]|].
  apply Rmult_le_pos; [apply going_nonneg|]. apply sum_nonneg. intros o _. left. apply Rmult_lt_0_compat; auto.
Qed.

(* The walk gives each tree the probability of the exponential mechanism over all of them. *)
Theorem tree_walk depth : forall s D t, walk_tree depth s D t = tree_weight depth s D t / tree_value depth s D.
Proof.
  induction depth as [|d IH]; intros s D [v|o a b]; pose proof (leaf_positive D) as lp.
  - simpl walk_tree. simpl tree_value. unfold value_chance, tree_weight, leaf_weight, tree_loss, total, Rdiv. simpl.
      lra.
  - simpl. unfold tree_weight. simpl. lra.
  - pose proof (tree_value_positive (S d) s D). cbn [walk_tree].
    unfold value_chance, leaf_weight, tree_weight, tree_loss, total. cbn [tree_prior predict].
    pose proof n_values_positive. field. lra.
  - pose proof (tree_value_positive (S d) s D). cbn [walk_tree]. rewrite !IH, node_weighs.
    pose proof (tree_value_positive d (on_caught s o) (caught o D)).
    pose proof (tree_value_positive d (on_left s o) (left o D)). field. lra.
Qed.

Corollary tree_walk_is_draw depth s D t :
  walk_tree depth s D t = draw (trees depth s) (tree_prior depth s) tree_loss w D t.
Proof. rewrite tree_walk, tree_recursion. reflexivity. Qed.

(* So one walk down the recursion is w-private for every loss of a row between 0 and 1. *)
Theorem tree_walk_private depth s : 0 <= w -> (forall r v, 0 <= row_loss r v <= IZR draw_sensitivity) ->
  private w (fun D t => walk_tree depth s D t).
Proof.
  intros pos bounded.
  assert (private w (draw (trees depth s) (tree_prior depth s) tree_loss w)) as H.
  { apply draw_private; auto using tree_prior_is_distribution. apply sum_of_bounded_losses_is_monotone. auto. }
  intros x D E add t. rewrite !tree_walk_is_draw. now apply (H x).
Qed.

(* Where the size is drawn, too, in proportion to the values of the root: `sized_draw` of ExponentialMechanism.v. *)
Definition walk_sized_tree (sizes : list nat) (s : State) (D : table Row) (t : tree) : R :=
  sum (fun d => tree_value d s D / sum (fun d => tree_value d s D) sizes * walk_tree d s D t) sizes.

Theorem sized_tree_walk_private sizes s : sizes <> [] -> 0 <= w ->
  (forall r v, 0 <= row_loss r v <= IZR draw_sensitivity) -> private w (fun D t => walk_sized_tree sizes s D t).
Proof.
  intros some pos bounded.
  assert (private w (sized_draw sizes (fun d => trees d s) (fun d => tree_prior d s) tree_loss w)) as H.
  { apply sized_draw_private; auto using tree_prior_is_distribution.
    apply sum_of_bounded_losses_is_monotone. auto. }
  assert (forall D t, walk_sized_tree sizes s D t =
    sized_draw sizes (fun d => trees d s) (fun d => tree_prior d s) tree_loss w D t) as W.
  { intros D t. unfold walk_sized_tree, sized_draw, all_sizes, of_size. apply sum_ext. intros d _.
    rewrite tree_walk_is_draw, tree_recursion.
    rewrite (sum_ext (fun d => tree_value d s D)
      (fun d => normaliser (trees d s) (tree_prior d s) tree_loss w D)); auto.
    intros e _. apply tree_recursion. }
  intros x D E add t. rewrite !W. now apply (H x).
Qed.

(* ---------------------------------------------------------------- Rule lists *)

(* A rule catches rows and gives them a value; the default is the last one's. *)
Inductive rule_list := Default (v : Value) | Rule (o : Option) (v : Value) (rest : rule_list).

Fixpoint follow (t : rule_list) (r : Row) : Value :=
  match t with Default v => v | Rule o v rest => if catches o r then v else follow rest r end.

Definition list_loss (D : table Row) (t : rule_list) : R := total (fun r t => row_loss r (follow t r)) D t.

Fixpoint rule_lists (depth : nat) (s : State) : list rule_list :=
  map Default values ++
  match depth with
  | O => []
  | S d => flat_map (fun o => flat_map (fun v => map (Rule o v) (rule_lists d (on_left s o))) values) (open s)
  end.

Fixpoint list_prior (depth : nat) (s : State) (t : rule_list) : R :=
  match depth, t with
  | O, Default _ => / n_values
  | O, Rule _ _ _ => 0
  | S d, Default _ => stopping s / n_values
  | S d, Rule o _ rest => going s * / n_values * list_prior d (on_left s o) rest
  end.

Fixpoint list_value (depth : nat) (s : State) (D : table Row) : R :=
  match depth with
  | O => leaf D
  | S d => stopping s * leaf D
      + going s * sum (fun o => leaf (caught o D) * list_value d (on_left s o) (left o D)) (open s)
  end.

Definition list_weight depth s D t : R := list_prior depth s t * exp (- w * list_loss D t).

Lemma list_loss_rule o v t D : list_loss D (Rule o v t) = total row_loss (caught o D) v + list_loss (left o D) t.
Proof.
  unfold list_loss, total. rewrite (split_loss _ o D).
    f_equal; apply sum_ext; intros r H; apply filter_In in H as [_ H];
    simpl; [|apply Bool.negb_true_iff in H]; rewrite H; reflexivity.
Qed.

Lemma defaults_weigh depth s D :
  sum (list_weight depth s D) (map Default values) = match depth with O => leaf D | S _ => stopping s * leaf D end.
Proof.
  rewrite sum_map. unfold leaf. destruct depth.
  - apply sum_ext. intros v _. unfold list_weight, leaf_weight, list_loss. simpl. unfold Rdiv. apply Rmult_comm.
  - rewrite <- sum_scale. apply sum_ext. intros v _. unfold list_weight, leaf_weight, list_loss. simpl.
    unfold total. simpl. lra.
Qed.

Lemma rule_weighs d s D o v t :
  list_weight (S d) s D (Rule o v t) =
  going s * (leaf_weight (caught o D) v * list_weight d (on_left s o) (left o D) t).
Proof.
  unfold list_weight, leaf_weight. rewrite list_loss_rule. simpl list_prior.
  replace (- w * (total row_loss (caught o D) v + list_loss (left o D) t))
    with (- w * total row_loss (caught o D) v + - w * list_loss (left o D) t) by lra.
  rewrite exp_plus. lra.
Qed.

Theorem list_recursion depth : forall s D, list_value depth s D = sum (list_weight depth s D) (rule_lists depth s).
Proof.
  induction depth as [|d IH]; intros s D.
  - simpl. rewrite app_nil_r, defaults_weigh. reflexivity.
  - simpl rule_lists. rewrite sum_app, defaults_weigh. simpl list_value. f_equal.
    rewrite sum_flat_map, <- sum_scale. apply sum_ext. intros o _.
    rewrite sum_flat_map, IH. unfold leaf at 1. rewrite <- sum_scale_right, <- sum_scale. apply sum_ext. intros v _.
    rewrite sum_map. rewrite (sum_ext _ _ _ (fun t _ => rule_weighs d s D o v t)).
    rewrite !sum_scale. reflexivity.
Qed.

Theorem list_value_of_no_rows depth : forall s, list_value depth s [] = 1.
Proof.
  induction depth as [|d IH]; intros s; simpl; rewrite leaf_of_no_rows; auto.
  rewrite (sum_ext _ (fun _ => 1)); [|intros; rewrite IH; lra].
  rewrite sum_constant. pose proof (stop_or_go s). unfold n_open in *. lra.
Qed.

Lemma list_prior_nonneg depth : forall s t, 0 <= list_prior depth s t.
Proof.
  pose proof n_values_positive as pos. pose proof (Rinv_0_lt_compat _ pos).
  induction depth as [|d IH]; intros s [v|o v t]; simpl; try lra.
  - pose proof (stopping_positive s). unfold Rdiv. nra.
  - repeat apply Rmult_le_pos; auto; [apply going_nonneg | lra].
Qed.

Theorem list_prior_is_distribution depth s : is_distribution (rule_lists depth s) (list_prior depth s).
Proof.
  split; [apply list_prior_nonneg|]. rewrite <- (list_value_of_no_rows depth s), list_recursion.
  apply sum_ext. intros t _. unfold list_weight, list_loss, total. simpl. rewrite Rmult_0_r, exp_0. lra.
Qed.

Fixpoint list_fits (depth : nat) (s : State) (t : rule_list) : Prop :=
  match t with
  | Default v => In v values
  | Rule o v rest => match depth with
      | O => False
      | S d => In o (open s) /\ In v values /\ list_fits d (on_left s o) rest
      end
  end.

Theorem rule_lists_are_all depth : forall s t, In t (rule_lists depth s) <-> list_fits depth s t.
Proof.
  induction depth as [|d IH]; intros s t; simpl rule_lists; rewrite in_app_iff, in_map_iff.
  - destruct t as [v|o v t]; simpl; split.
    + intros [[u [E H]]|[]]. injection E as ->. auto.
    + intros H. left. eauto.
    + intros [[u [E H]]|[]]. discriminate.
    + contradiction.
  - destruct t as [v|o v t]; simpl; split.
    + intros [[u [E H]]|H]; [injection E as ->; auto|].
      apply in_flat_map in H as (o & _ & H). apply in_flat_map in H as (a & _ & H).
      apply in_map_iff in H as (b & E & _). discriminate.
    + intros H. left. eauto.
    + intros [[u [E H]]|H]; [discriminate|].
      apply in_flat_map in H as (p & Hp & H). apply in_flat_map in H as (u & Hu & H).
      apply in_map_iff in H as (b' & E & Hb). injection E as -> -> ->. rewrite <- IH. auto.
    + intros (Ho & Hv & Ht). right. apply in_flat_map. exists o. split; auto.
      apply in_flat_map. exists v. split; auto. apply in_map. now apply IH.
Qed.

Theorem rule_lists_are_once depth : NoDup values -> (forall s, NoDup (open s)) -> forall s, NoDup (rule_lists depth s).
Proof.
  intros nv no. induction depth as [|d IH]; intros s; simpl.
  - rewrite app_nil_r. apply NoDup_map; auto; congruence.
  - apply NoDup_app_disjoint.
    + apply NoDup_map; auto; congruence.
    + apply NoDup_flat_map; auto.
      * intros o _. apply NoDup_flat_map; auto.
        -- intros a _. apply NoDup_map; auto; congruence.
        -- intros a b c Ha Hb. apply in_map_iff in Ha as (? & <- & _). apply in_map_iff in Hb as (? & E & _).
             congruence.
      * intros o p c Ho Hp. apply in_flat_map in Ho as (? & _ & Ho). apply in_flat_map in Hp as (? & _ & Hp).
        apply in_map_iff in Ho as (? & <- & _). apply in_map_iff in Hp as (? & E & _). congruence.
    + intros t Ht H. apply in_map_iff in Ht as (v & <- & _).
      apply in_flat_map in H as (? & _ & H). apply in_flat_map in H as (? & _ & H).
      apply in_map_iff in H as (? & E & _). discriminate.
Qed.

Fixpoint walk_list (depth : nat) (s : State) (D : table Row) (t : rule_list) : R :=
  match depth, t with
  | O, Default v => value_chance D v
  | O, Rule _ _ _ => 0
  | S d, Default v => stopping s * leaf D / list_value (S d) s D * value_chance D v
  | S d, Rule o v rest =>
      going s * (leaf (caught o D) * list_value d (on_left s o) (left o D)) / list_value (S d) s D
      * value_chance (caught o D) v * walk_list d (on_left s o) (left o D) rest
  end.

Lemma list_value_positive depth : forall s D, 0 < list_value depth s D.
Proof.
  induction depth as [|d IH]; intros s D; simpl; [apply leaf_positive|].
  apply Rplus_lt_le_0_compat; [apply Rmult_lt_0_compat; [apply stopping_positive | apply leaf_positive]|].
  apply Rmult_le_pos; [apply going_nonneg|]. apply sum_nonneg. intros o _. left.
  apply Rmult_lt_0_compat; auto using leaf_positive.
Qed.

Theorem list_walk depth : forall s D t, walk_list depth s D t = list_weight depth s D t / list_value depth s D.
Proof.
  induction depth as [|d IH]; intros s D [v|o v t]; pose proof (leaf_positive D) as lp.
  - simpl walk_list. simpl list_value. unfold value_chance, list_weight, leaf_weight, list_loss, total, Rdiv. simpl.
      lra.
  - simpl. unfold list_weight. simpl. lra.
  - pose proof (list_value_positive (S d) s D). cbn [walk_list].
    unfold value_chance, leaf_weight, list_weight, list_loss, total. cbn [list_prior follow].
    pose proof n_values_positive. field. lra.
  - pose proof (list_value_positive (S d) s D). cbn [walk_list]. rewrite !IH, rule_weighs. unfold value_chance.
    pose proof (list_value_positive d (on_left s o) (left o D)). pose proof (leaf_positive (caught o D)). field. lra.
Qed.

Corollary list_walk_is_draw depth s D t :
  walk_list depth s D t = draw (rule_lists depth s) (list_prior depth s) list_loss w D t.
Proof. rewrite list_walk, list_recursion. reflexivity. Qed.

Theorem list_walk_private depth s : 0 <= w -> (forall r v, 0 <= row_loss r v <= IZR draw_sensitivity) ->
  private w (fun D t => walk_list depth s D t).
Proof.
  intros pos bounded.
  assert (private w (draw (rule_lists depth s) (list_prior depth s) list_loss w)) as H.
  { apply draw_private; auto using list_prior_is_distribution. apply sum_of_bounded_losses_is_monotone. auto. }
  intros x D E add t. rewrite !list_walk_is_draw. now apply (H x).
Qed.

Definition walk_sized_list (sizes : list nat) (s : State) (D : table Row) (t : rule_list) : R :=
  sum (fun d => list_value d s D / sum (fun d => list_value d s D) sizes * walk_list d s D t) sizes.

Theorem sized_list_walk_private sizes s : sizes <> [] -> 0 <= w ->
  (forall r v, 0 <= row_loss r v <= IZR draw_sensitivity) -> private w (fun D t => walk_sized_list sizes s D t).
Proof.
  intros some pos bounded.
  assert (private w (sized_draw sizes (fun d => rule_lists d s) (fun d => list_prior d s) list_loss w)) as H.
  { apply sized_draw_private; auto using list_prior_is_distribution.
    apply sum_of_bounded_losses_is_monotone. auto. }
  assert (forall D t, walk_sized_list sizes s D t =
    sized_draw sizes (fun d => rule_lists d s) (fun d => list_prior d s) list_loss w D t) as W.
  { intros D t. unfold walk_sized_list, sized_draw, all_sizes, of_size. apply sum_ext. intros d _.
    rewrite list_walk_is_draw, list_recursion.
    rewrite (sum_ext (fun d => list_value d s D)
      (fun d => normaliser (rule_lists d s) (list_prior d s) list_loss w D)); auto.
    intros e _. apply list_recursion. }
  intros x D E add t. rewrite !W. now apply (H x).
Qed.

End Models.
