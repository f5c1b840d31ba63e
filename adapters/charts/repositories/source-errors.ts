import {
  ChartMissing,
  ChartRefused,
  ChartSourceRefused,
  ChartSourceUnreachable,
} from '../../../core/packages/charts/ports.ts'
import { EgressRefused } from '../../outbound/egress-policy.ts'
import { FetchFailed, NotReached } from '../../outbound/guarded-fetch.ts'
import { WorkStopped } from '../../outbound/bounded-threads.ts'
import { ChartWorkRefused } from '../chart-threads.ts'

export type SourceFailure =
  | ReturnType<typeof ChartMissing>
  | ReturnType<typeof ChartRefused>
  | ReturnType<typeof ChartSourceRefused>
  | ReturnType<typeof ChartSourceUnreachable>

/** A declared failure, thrown inside the adapter and caught at its boundary. */
export class SourceError extends Error {
  readonly failure: SourceFailure
  constructor(failure: SourceFailure) {
    super(failure.message)
    this.failure = failure
  }
}

export const missing = (message: string): SourceError => new SourceError(ChartMissing(message))
export const refusedSource = (message: string): SourceError => new SourceError(ChartSourceRefused(message))
export const unreachable = (message: string): SourceError => new SourceError(ChartSourceUnreachable(message))
export const refusedChart = (message: string): SourceError => new SourceError(ChartRefused(message))

/** Converts an error of the lower layers to a failure for the caller. Unexpected errors are thrown again. */
export const toSourceFailure = (error: unknown): SourceFailure => {
  if (error instanceof SourceError) return error.failure
  if (error instanceof EgressRefused || error instanceof NotReached) return ChartSourceRefused(error.message)
  if (error instanceof FetchFailed) return ChartSourceUnreachable(error.message)
  if (error instanceof ChartWorkRefused) return ChartRefused(error.message)
  if (error instanceof WorkStopped) return ChartRefused(`The chart could not be read. ${error.message}`)
  throw error
}

/** Describes a status other than 200 for people. */
export const answeredBy = (host: string, status: number): SourceError => {
  if (status === 401 || status === 403)
    return refusedSource(`${host} does not let us in (${status}): credentials are missing or not accepted.`)
  return unreachable(`${host} did not answer as a chart repository does (${status}).`)
}
