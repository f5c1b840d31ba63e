import { defineFailure } from '../../kernel/failure.ts'

/** The choices do not form an order; the message names the missing or excess choice. */
export const OrderRefused = defineFailure('OrderRefused', 'Unprocessable')
/** The chart does not contain a file of that name. */
export const ChartFileMissing = defineFailure('ChartFileMissing', 'NotFound')
/** The file cannot be converted to the requested format. */
export const FormatRefused = defineFailure('FormatRefused', 'Unprocessable')
/** The resource does not have a variant of that name. */
export const VariantMissing = defineFailure('VariantMissing', 'NotFound')
/** The cluster does not allow the caller to read what the values depend on. */
export const PresetsRefused = defineFailure('PresetsRefused', 'Forbidden')
