#include "idle.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "chance.h"
#include "cpu_weight.h"

enum { LEAD_S = 3600, PHASE_PLACE = 9000000 };

/* What services use of a node: [second], from the beginning of the warm-up. */
struct services {
        const struct demand_node *node;
        int64_t end_s, measured_from_s;
        double *wanted_cores, *foreseen_cores;
        double *readings; /* one every OFFER_READING_S */
        size_t reading_count;
        int64_t first_reading_s;
};

void batch_start(struct batch *batch, double offered_cores) {
        while (offered_cores - batch_wanted_cores(batch) >= BATCH_POD_CORES) {
                assert(batch->count < BATCH_MAX_PODS);
                batch->ends_core_s[(batch->first + batch->count++) % BATCH_MAX_PODS] =
                        batch->given_core_s + BATCH_POD_CORE_S;
        }
}

double batch_wanted_cores(const struct batch *batch) {
        return BATCH_POD_CORES * (double)batch->count;
}

void batch_pass(struct batch *batch, double given_cores) {
        if (batch->count > 0)
                batch->given_core_s += given_cores / (double)batch->count;
        while (batch->count > 0 && batch->ends_core_s[batch->first] <= batch->given_core_s) {
                batch->first = (batch->first + 1) % BATCH_MAX_PODS;
                batch->count--;
        }
}

static void sum_changes(struct services *services) {
        const struct demand_node *node = services->node;
        double *slots = xcalloc(node->slot_count + 1, sizeof(*slots));
        double sum = 0;
        size_t next = 0;

        for (int64_t now_s = 0; now_s <= services->end_s; now_s++) {
                for (; next < node->count && node->changes[next].at_s == now_s; next++) {
                        sum += node->changes[next].cores - slots[node->changes[next].slot];
                        slots[node->changes[next].slot] = node->changes[next].cores;
                }
                services->wanted_cores[now_s] = sum;
        }
        free(slots);
}

/* Of what they got: no more than the node has. */
static void read_services(struct services *services, const double *used_cores) {
        double sum = 0;

        for (int64_t now_s = 0; now_s <= services->end_s; now_s++) {
                sum += used_cores[now_s];
                if (now_s < OFFER_MEAN_S)
                        continue;
                sum -= used_cores[now_s - OFFER_MEAN_S];
                if (now_s >= services->first_reading_s &&
                    (now_s - services->first_reading_s) % OFFER_READING_S == 0)
                        services->readings[services->reading_count++] = sum / OFFER_MEAN_S;
        }
}

static struct services services_of(const struct demand_node *node, const struct scenario *scenario,
                                   int64_t phase_s) {
        struct services services = {
                .node = node,
                .end_s = scenario->warm_up_s + scenario->measured_s,
                .measured_from_s = scenario->warm_up_s + 1,
                .first_reading_s = OFFER_MEAN_S + phase_s,
        };
        size_t seconds = (size_t)services.end_s + 1;
        double *used_cores = xcalloc(seconds, sizeof(*used_cores));

        services.wanted_cores = xcalloc(seconds, sizeof(*services.wanted_cores));
        services.foreseen_cores = xcalloc(seconds, sizeof(*services.foreseen_cores));
        services.readings = xcalloc(seconds / OFFER_READING_S + 1, sizeof(*services.readings));
        sum_changes(&services);
        for (size_t i = 0; i < seconds; i++)
                used_cores[i] = fmin(node->cores, services.wanted_cores[i]);
        offer_foresee(used_cores, seconds, services.foreseen_cores);
        read_services(&services, used_cores);
        free(used_cores);
        return services;
}

static void services_done(struct services *services) {
        free(services->wanted_cores);
        free(services->foreseen_cores);
        free(services->readings);
}

/* What a node offers at a time, after what it @offered in the second before. */
static double offered_at(const struct services *services, const struct offer *offer, int64_t now_s,
                         double offered) {
        double line_cores = OFFER_LINE_RATIO * services->node->cores;
        int64_t since_s = now_s - services->first_reading_s;

        if (offer->peak == OFFER_NOTHING)
                return 0;
        if (offer->peak == OFFER_FORESEEN)
                return line_cores - services->foreseen_cores[now_s];
        if (since_s < 0 || since_s % OFFER_READING_S != 0)
                return offered;
        double peak = offer_peak(offer, services->readings,
                                 (size_t)(since_s / OFFER_READING_S) + 1);
        return offer_next(offered, line_cores - peak);
}

/* A node while batch is laid over its services. */
struct lane {
        const struct services *services;
        struct batch batch;
        double offered_cores;
        struct cpu_consumer *consumers; /* [slot]; the batch is the last one */
        double *given_cores;
        size_t consumer_count, next_change;
};

/* Services take part with what they want, the batch as so many pods of its weight. */
static void gather_consumers(struct lane *lane, int64_t now_s) {
        const struct demand_node *node = lane->services->node;
        struct cpu_consumer *of_batch = &lane->consumers[lane->consumer_count - 1];

        for (; lane->next_change < node->count; lane->next_change++) {
                const struct demand_change *change = &node->changes[lane->next_change];
                if (change->at_s > now_s)
                        break;
                lane->consumers[change->slot] = (struct cpu_consumer){
                        cpu_weight(change->request_cores), change->cores};
        }
        of_batch->wanted_cores = batch_wanted_cores(&lane->batch);
        of_batch->weight = (double)lane->batch.count * cpu_weight(0);
}

/* Return: cores that the batch gets */
static double give_second(struct lane *lane, int64_t now_s, struct idle_outcome *sum) {
        double cores = lane->services->node->cores;
        double services_cores = lane->services->wanted_cores[now_s];
        double batch_cores = batch_wanted_cores(&lane->batch);
        double used_cores = fmin(cores, services_cores + batch_cores);

        if (services_cores + batch_cores > cores) {
                gather_consumers(lane, now_s);
                cpu_weight_share(lane->consumers, lane->consumer_count, cores, lane->given_cores);
                batch_cores = lane->given_cores[lane->consumer_count - 1];
                sum->of[IDLE_THROTTLED_CORE_S] += fmax(0, services_cores + batch_cores - cores);
        }
        sum->of[IDLE_SERVICES_CORE_S] += services_cores;
        sum->of[IDLE_BATCH_CORE_S] += batch_cores;
        sum->of[IDLE_HOT_NODE_MINUTES] += used_cores > OFFER_LINE_RATIO * cores ? 1.0 / 60 : 0;
        sum->of[IDLE_NODE_MINUTES] += 1.0 / 60;
        sum->of[IDLE_MEAN_UTILISATION] += used_cores; /* of all that there is: at the end */
        return batch_cores;
}

static void lay_on_node(const struct services *services, const struct offer *offer,
                        struct idle_outcome *sum) {
        struct lane lane = {
                .services = services,
                .consumer_count = services->node->slot_count + 1,
        };
        int64_t first_s = services->measured_from_s - LEAD_S;
        struct idle_outcome before = {0}; /* not measured */

        lane.consumers = xcalloc(lane.consumer_count, sizeof(*lane.consumers));
        lane.given_cores = xcalloc(lane.consumer_count, sizeof(*lane.given_cores));
        for (int64_t now_s = first_s > 0 ? first_s : 0; now_s <= services->end_s; now_s++) {
                bool is_measured = now_s >= services->measured_from_s;
                lane.offered_cores = offered_at(services, offer, now_s, lane.offered_cores);
                batch_start(&lane.batch, lane.offered_cores);
                batch_pass(&lane.batch, give_second(&lane, now_s, is_measured ? sum : &before));
        }
        free(lane.consumers);
        free(lane.given_cores);
}

void idle_lay(const struct demand *demand, const struct scenario *scenario, uint64_t seed,
              struct idle_outcome *ret) {
        double cores = 0;

        for (size_t o = 0; o < offer_count; o++)
                ret[o] = (struct idle_outcome){0};
        for (size_t n = 0; n < demand->node_count; n++) {
                double phase = chance_uniform(seed, PHASE_PLACE + n) * OFFER_READING_S;
                struct services services = services_of(&demand->nodes[n], scenario, (int64_t)phase);
                for (size_t o = 0; o < offer_count; o++)
                        lay_on_node(&services, &offers[o], &ret[o]);
                services_done(&services);
                cores += demand->nodes[n].cores;
        }
        for (size_t o = 0; o < offer_count; o++)
                ret[o].of[IDLE_MEAN_UTILISATION] /= cores * (double)scenario->measured_s;
}
