#include "extender/table/annotation_unit.h"

/* In the order of enum annotation_unit. */
const char *const annotation_units[] = {"ratio", "percent", NULL};
