/* What the annotations' numbers are: an option of the server and of explain. */
#pragma once

#include "program/options.h"

enum annotation_unit { ANNOTATION_UNIT_RATIO, ANNOTATION_UNIT_PERCENT };

extern const char *const annotation_units[];

/* clang-format off */
#define ANNOTATION_UNIT_ROW(place)                                                                 \
        {.name = "annotation-unit", .type = OPTION_ENUM, .value = &(place), .fallback = "ratio",   \
         .choices = annotation_units,                                                              \
         .help = "Unit of the annotations' numbers; percent for crane-scheduler-plus."}
/* clang-format on */
