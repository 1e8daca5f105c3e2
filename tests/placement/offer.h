/*
 * How much CPU a node offers to batch work: its line less the peak of what services used. Pure.
 *
 * Services are read every 3 minutes, each time as the mean of the last five. After a reading the
 * offer falls to what it says at once, and rises by no more than a batch pod's request.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { OFFER_READING_S = 180, OFFER_MEAN_S = 300, OFFER_FORESEEN_S = 1800 };

#define OFFER_LINE_RATIO 0.65
#define OFFER_STEP_CORES 2.0

struct offer {
        const char *name;
        enum {
                OFFER_NOTHING,
                OFFER_MAXIMUM,  /* of the last readings */
                OFFER_SIGMAS,   /* their mean and two standard deviations */
                OFFER_QUANTILE, /* their 99th percentile, by nearest rank */
                OFFER_FORESEEN, /* what services will use at most while a pod that starts now runs;
                                   at any time, and without steps */
        } peak;
        size_t readings;
};

extern const struct offer offers[];
extern const size_t offer_count;

/** offer_peak() - of the last of @count >= 1 @readings, the newest last; of all if it is fewer than
 * the offer has. Neither OFFER_NOTHING nor OFFER_FORESEEN */
double offer_peak(const struct offer *offer, const double *readings, size_t count);
/** offer_next() - after one of @offered_cores, when @room_cores, which may be below 0, are left */
double offer_next(double offered_cores, double room_cores);
/** offer_foresee() - of each of @count seconds, the largest of the OFFER_FORESEEN_S that begin with
 * it, as far as there are so many */
void offer_foresee(const double *used_cores, size_t count, double *ret_cores);
