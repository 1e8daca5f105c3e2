#include "policy/rebalance/rebalance_line.h"

#include <math.h>

#define LINE_RATIO 0.65
#define BELOW_LIMIT 0.15
#define BELOW_LINE_COOLED 0.02
#define BELOW_LINE_TARGET 0.05

struct rebalance_line rebalance_line(double limit_ratio, double target_ratio) {
        double hot_ratio = fmax(fmin(LINE_RATIO, limit_ratio), limit_ratio - BELOW_LIMIT);

        if (target_ratio > 0)
                hot_ratio = fmax(hot_ratio, target_ratio + BELOW_LINE_TARGET);
        return (struct rebalance_line){
                .hot_ratio = hot_ratio,
                .cooled_ratio = hot_ratio - BELOW_LINE_COOLED,
                .target_ratio = hot_ratio - BELOW_LINE_TARGET,
        };
}
