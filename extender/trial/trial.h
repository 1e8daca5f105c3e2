/*
 * What Plimsoll would do for a cluster whose kube-scheduler does not ask it. Next to the real
 * cluster there is a virtual one: each pod that is bound is judged as if the scheduler had asked,
 * and is in the virtual cluster where the scheduler would have put it (trial_scheduler.h).
 *
 *     virtual usage = usage - that of pods that are really there, but virtually elsewhere
 *                           + that of pods that are virtually there, but really elsewhere
 *
 * A pod counts with what the estimate counts it with (node_estimate.h), in the virtual cluster as
 * in the real one: a decision sees the virtual usage, margins, requests and limits.
 *
 * Both clusters are counted by the same readings, when a new one of a node arrives: most pods of
 * its window are measured then. The virtual node had more, or less, than the reading by the sum
 * over displaced pods of what each uses times the part of the window in which it ran. Pods never
 * count with more than the reading of their real node.
 *
 * A reading hides what happens within its window, in both clusters. With s, the deviation of a
 * node's readings from one to the next, a node counts as hot for the share
 *
 *     P(reading + e > line),  e normal with the standard deviation s / sqrt(2)
 *
 * Pods can be held back: they are left to kube-scheduler, so that the gain can be measured while
 * Plimsoll is on. They are a share of all pods, by their UID, which the API server draws. So all
 * replicas of the extender hold back the same pods, and a workload has pods in both groups. Then no
 * pod is judged. The clusters are two groups of pods of the real one: those that were held back,
 * and all others that kube-scheduler placed since the trial began. What counts is how long each pod
 * is on a hot node.
 *
 * Guarantee: the trial changes nothing. Pods that were there before it stay where they are, and so
 * do pods whose constraints it does not model, so the gain is too low until judged pods have
 * replaced the others. While kube-scheduler asks, it judges nothing, and its pods are where they
 * really are.
 *
 * No I/O and no clock; on the loop's thread, unless a function says otherwise. A binding costs a
 * copy of the columns, a judgement, and a look at the estimate for each displaced pod and its
 * replicas. A displaced pod takes 100 bytes, of at most TRIAL_MAX_PODS.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "extender/table/node_snapshot.h"
#include "extender/trial/trial_blocks.h"
#include "policy/pods/pod_facts.h"

enum { TRIAL_MAX_PODS = 100000 };

struct trial;

/** trial_new() - @held_back_ratio: the share of pods that are held back, 0 to 1 */
struct trial *trial_new(double held_back_ratio);
void trial_free(struct trial *trial);

/** trial_bound() - a pod was bound just now
 * @snapshot: does not show it yet; later ones do */
void trial_bound(struct trial *trial, const struct node_snapshot *snapshot,
                 const struct pod_facts *pod, int64_t now_unix_ms);
/** trial_step() - count the readings that are new; called every ESTIMATOR_STEP_MS */
void trial_step(struct trial *trial, const struct node_snapshot *snapshot, int64_t now_unix_ms);
/** trial_restart() - forget what was counted, as another policy does; displaced pods stay where
 * they are */
void trial_restart(struct trial *trial);
/** trial_holds_back() - is the pod held back? Any thread */
bool trial_holds_back(const struct trial *trial, const struct pod_facts *pod);
/** trial_asked() - a scheduler asks about a pod; any thread */
void trial_asked(struct trial *trial, int64_t now_unix_ms);

struct trial_stats {
        double held_back_ratio; /* as of trial_new() */
        int64_t since_unix_ms;  /* 0: nothing was counted yet */
        int64_t asked_unix_ms;  /* the last trial_asked(); 0: never */
        struct trial_blocks blocks;
        /* Pods. Those of DaemonSets, mirror pods and those of other schedulers are in none. */
        uint64_t judged, not_judged;
        size_t displaced;
        double hot[TRIAL_WORLDS]; /* nodes that are hot by their last readings */
};

void trial_stats(const struct trial *trial, struct trial_stats *ret);
