import { defineFailure } from '../../kernel/failure.ts'

/** An order cannot be made of the choices; the message says which one is missing or too much. */
export const OrderRefused = defineFailure('OrderRefused', 'Unprocessable')
/** The chart has no file of that name. */
export const ChartFileMissing = defineFailure('ChartFileMissing', 'NotFound')
/** The file cannot be turned into the format that was asked for. */
export const FormatRefused = defineFailure('FormatRefused', 'Unprocessable')
/** The resource has no variant of that name. */
export const VariantMissing = defineFailure('VariantMissing', 'NotFound')
/** The cluster does not let the caller read what the values depend on. */
export const PresetsRefused = defineFailure('PresetsRefused', 'Forbidden')
