import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Exchange } from '../kernel/exchange.ts'
import type { Outcome } from '../kernel/failure.ts'
import { batchDelete } from './batch-delete.ts'
import type { ClusterApi } from './ports.ts'
import { impersonation } from './proxy-headers.ts'
import type { ProxyTarget } from './proxy-path.ts'
import { allAvailable, controllerOf, eventsOf, horizontalPodAutoscalersOf, setReplicas } from './related-objects.ts'
import { asUpstream, type Ask, type Computed, type WiderAnswer, type WiderFailure, type WiderInput } from './wider-types.ts'

/** Answers a form that is computed from several requests; undefined when the request is to be passed on as it is. */
export type AnswerWiderForm = (input: WiderInput) => Outcome<WiderFailure, void> | undefined

const compute = (target: ProxyTarget, exchange: Exchange, ask: Ask): Computed | undefined => {
  const { method } = exchange
  if (target.form === 'batch-delete') return method === 'POST' ? batchDelete(ask, exchange.body) : undefined
  if (target.form === 'all-available') return method === 'GET' ? allAvailable(ask, target.group, target.version) : undefined
  if (target.form === 'raw' || target.ref.name === undefined) return undefined
  const { subresource } = target.ref
  if (method === 'GET' && subresource === 'events') return eventsOf(ask, target.ref)
  if (method === 'GET' && subresource === 'controller') return controllerOf(ask, target.ref)
  if (method === 'GET' && subresource === 'horizontalpodautoscalers') return horizontalPodAutoscalersOf(ask, target.ref)
  if (method === 'PUT' && subresource === 'scale') return setReplicas(ask, target.path, exchange.body)
  return undefined
}

const answer = (exchange: Exchange, { status, text }: WiderAnswer): void => {
  const bytes = new TextEncoder().encode(text)
  exchange.respond(status, [
    ['content-type', 'application/json'],
    ['content-length', String(bytes.byteLength)],
  ])
  exchange.write(bytes)
  exchange.end()
}

/** The forms of the wider surface that no single request of the Kubernetes API answers. */
export const makeAnswerWiderForm = (deps: { readonly api: Pick<ClusterApi, 'request'> }): AnswerWiderForm =>
  ({ connection, target, exchange, as, signal }) => {
    const identity = as === undefined ? [] : impersonation(as)
    const ask: Ask = async (request) => {
      const asked = await deps.api.request(connection, { ...request, headers: [...(request.headers ?? []), ...identity] }, signal)
      return isLeft(asked) ? left(asUpstream(asked.left)) : asked
    }
    const computed = compute(target, exchange, ask)
    if (computed === undefined) return undefined
    return computed.then((outcome) => {
      if (isLeft(outcome)) return outcome
      answer(exchange, outcome.right)
      return right(undefined)
    })
  }
