import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest } from 'node:http'
import type { Context, Span } from '@opentelemetry/api'
import type { ReadableSpan, Sampler, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { OpenSpan, SpanAttributes, SpanStart, TraceContext, Tracing } from '../../core/platform/ports.ts'
import type { EndedWait } from '../outbound/account-limiter.ts'
import { endedWaits } from '../outbound/account-limiter.ts'

export interface OtlpOptions {
  /** Address of the receiver, without the path `/v1/traces`. */
  readonly endpoint: string
  /** Headers of requests to the receiver, such as its credential. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * Percentage of the traces that begin here. A trace that a caller began is recorded as the caller says, but only so
   * many of those that are recorded for this reason alone.
   */
  readonly percent: number
  readonly release: string
  readonly instanceId: string
  /** Called when spans could not be exported, with the reason, at most once a minute. */
  readonly onTrouble: (reason: string) => void
}

/** Traces that are exported by OTLP over HTTP. */
export interface OtlpTracing extends Tracing {
  /** Spans that were not exported since the start. */
  lost(): number
  /** Exports what waits, and ends. */
  close(): Promise<void>
}

/** Spans that wait for the receiver; further ones are lost, and counted. */
const mostWaiting = 4096
/** Traces that are recorded only because their callers ask for it, at once, and how many more in each second. */
const mostAsked = { atOnce: 60, perSecond: 1 }
const exportMilliseconds = 5_000
const troubleMilliseconds = 60_000
const requestCreated = 'http.client.request.created'

/** Loaded only where traces are on. */
const libraries = async () => {
  const [api, core, exporter, resources, sdk] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace-base'),
  ])
  return { api, core, exporter, resources, sdk }
}
type Libraries = Awaited<ReturnType<typeof libraries>>

/** Passes spans on while there is room, and counts those that are not exported. */
const makeCounting = ({ core, sdk }: Libraries, exporter: SpanExporter, onTrouble: OtlpOptions['onTrouble']) => {
  let [waiting, lost, toldAt] = [0, 0, -troubleMilliseconds]
  const tell = (reason: string): void => {
    const now = performance.now()
    if (now - toldAt < troubleMilliseconds) return
    toldAt = now
    onTrouble(reason)
  }
  const counting: SpanExporter = {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        waiting -= spans.length
        if (result.code !== core.ExportResultCode.SUCCESS) {
          lost += spans.length
          // The message of the library names the status or the code of the connection.
          tell(result.error?.message.slice(0, 200) ?? 'unknown')
        }
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
  const batches = new sdk.BatchSpanProcessor(counting, {
    maxQueueSize: mostWaiting,
    maxExportBatchSize: 512,
    scheduledDelayMillis: 1_000,
    exportTimeoutMillis: exportMilliseconds,
  })
  const processor: SpanProcessor = {
    onStart: (span, context) => batches.onStart(span, context),
    onEnd: (span: ReadableSpan) => {
      if ((span.spanContext().traceFlags & 1) === 0) return
      if (waiting >= mostWaiting) {
        lost += 1
        return tell('the receiver is too slow')
      }
      waiting += 1
      batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
  return { processor, lost: () => lost }
}

/**
 * Decides about traces that were begun elsewhere and are recorded there. A recorded request takes more than twice the
 * time, so callers who are not even known yet cannot have all of theirs recorded. The id of the trace is the caller's
 * choice, too, and decides nothing.
 */
const makeAskedSampler = ({ api, sdk }: Libraries, percent: number): Sampler => {
  let [left, sinceMs] = [mostAsked.atOnce, performance.now()]
  const takeOne = (): boolean => {
    const nowMs = performance.now()
    left = Math.min(mostAsked.atOnce, left + ((nowMs - sinceMs) / 1000) * mostAsked.perSecond)
    sinceMs = nowMs
    if (left < 1) return false
    left -= 1
    return true
  }
  return {
    shouldSample(_context, _traceId, _name, kind) {
      // A task continues a trace of this service.
      const isRecorded = kind !== api.SpanKind.SERVER || Math.random() * 100 < percent || takeOne()
      return { decision: isRecorded ? sdk.SamplingDecision.RECORD_AND_SAMPLED : sdk.SamplingDecision.NOT_RECORD }
    },
    toString: () => 'AskedSampler',
  }
}

const textAccess = {
  get: (carrier: Record<string, string>, key: string) => carrier[key],
  keys: (carrier: Record<string, string>) => Object.keys(carrier),
}

/** Returns a code of an error. Its message may quote what a user sent. */
const typeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return typeof error
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code) ? code : error.name
}

class Spans implements Tracing {
  readonly isOn = true
  readonly #current = new AsyncLocalStorage<Context>()
  readonly #tracer
  readonly #api
  readonly #propagator

  constructor(loaded: Libraries, processor: SpanProcessor, options: OtlpOptions) {
    const { api, core, sdk, resources } = loaded
    const provider = new sdk.BasicTracerProvider({
      resource: resources.resourceFromAttributes({
        'service.name': 'moorage',
        'service.version': options.release,
        'service.instance.id': options.instanceId,
      }),
      sampler: new sdk.ParentBasedSampler({
        root: new sdk.TraceIdRatioBasedSampler(options.percent / 100),
        remoteParentSampled: makeAskedSampler(loaded, options.percent),
      }),
      spanProcessors: [processor],
    })
    this.#api = api
    this.#tracer = provider.getTracer('moorage', options.release)
    this.#propagator = new core.W3CTraceContextPropagator()
  }

  /** Work that a caller or a queue starts continues no trace but the one that it names. */
  #parentOf({ kind = 'internal', parent }: SpanStart): Context {
    const { ROOT_CONTEXT } = this.#api
    if (parent !== undefined) return this.#propagator.extract(ROOT_CONTEXT, { traceparent: parent }, textAccess)
    if (kind === 'server' || kind === 'consumer') return ROOT_CONTEXT
    return this.#current.getStore() ?? ROOT_CONTEXT
  }

  #opened(span: Span): OpenSpan {
    const { SpanStatusCode } = this.#api
    return {
      set: (attributes: SpanAttributes) => void span.setAttributes(attributes),
      fail: (type) => {
        span.setAttribute('error.type', type)
        span.setStatus({ code: SpanStatusCode.ERROR })
      },
    }
  }

  /** Adds the span of a wait to the span in which the caller waited. */
  addWait({ pool, since, until }: EndedWait): void {
    const context = this.#current.getStore()
    if (context === undefined) return
    const attributes = { 'moorage.pool': pool } satisfies SpanAttributes
    this.#tracer.startSpan(`wait ${pool}`, { startTime: since, attributes }, context).end(until)
  }

  async span<A>(start: SpanStart, work: (span: OpenSpan) => Promise<A>): Promise<A> {
    const parent = this.#parentOf(start)
    const kind = this.#api.SpanKind[(start.kind ?? 'internal').toUpperCase() as 'INTERNAL']
    const span = this.#tracer.startSpan(start.name, { kind, attributes: { ...start.attributes } }, parent)
    const opened = this.#opened(span)
    try {
      return await this.#current.run(this.#api.trace.setSpan(parent, span), () => work(opened))
    } catch (error) {
      opened.fail(typeOf(error))
      throw error
    } finally {
      span.end()
    }
  }

  headers = (): Readonly<Record<string, string>> => {
    const context = this.#current.getStore()
    if (context === undefined) return {}
    const headers: Record<string, string> = {}
    this.#propagator.inject(context, headers, { set: (carrier, key, value) => void (carrier[key] = value) })
    return headers
  }

  current = (): TraceContext | undefined => {
    const context = this.#current.getStore()
    const span = context === undefined ? undefined : this.#api.trace.getSpanContext(context)
    if (span === undefined) return undefined
    const { traceId, spanId, traceFlags } = span
    return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}` }
  }
}

/** Opens traces. Nothing is connected before the first export. */
export const openOtlpTracing = async (options: OtlpOptions): Promise<OtlpTracing> => {
  const loaded = await libraries()
  const exporter = new loaded.exporter.OTLPTraceExporter({
    url: `${options.endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: { ...options.headers },
    timeoutMillis: exportMilliseconds,
  })
  const { processor, lost } = makeCounting(loaded, exporter, options.onTrouble)
  const spans = new Spans(loaded, processor, options)
  // Packages of vendors make their requests by Node's own client, which has no other place for a header.
  const onRequest = (message: unknown): void => {
    const { request } = message as { readonly request: ClientRequest }
    if (request.headersSent || request.hasHeader('traceparent')) return
    for (const [name, value] of Object.entries(spans.headers())) request.setHeader(name, value)
  }
  subscribe(requestCreated, onRequest)
  const onWait = (message: unknown): void => spans.addWait(message as EndedWait)
  endedWaits.subscribe(onWait)
  return {
    isOn: true,
    span: (start, work) => spans.span(start, work),
    headers: spans.headers,
    current: spans.current,
    lost,
    close: async () => {
      unsubscribe(requestCreated, onRequest)
      endedWaits.unsubscribe(onWait)
      await processor.shutdown()
    },
  }
}
