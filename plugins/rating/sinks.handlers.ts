import { ClockPort } from '../../core/kernel/clock.ts'
import { EntropyPort, SecretBoxPort } from '../../core/kernel/secret.ts'
import { minorText } from '../../core/rating/money.ts'
import { SinkStorePort, SinkUnitOfWorkPort } from '../../core/rating/sinks/ports.ts'
import type { CountedSink, SinkCustomer } from '../../core/rating/sinks/sinks.ts'
import {
  makeGetSinkCustomer,
  makeListSinks,
  makeListWaiting,
  makePutSink,
  makePutSinkCustomer,
  makeResolveEvent,
} from '../../core/rating/sinks/sinks.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import {
  getSinkCustomer,
  listSinkEvents,
  listSinks,
  putSink,
  putSinkCustomer,
  resolveSinkEvent,
} from './sinks.routes.ts'

const sinkToWire = ({ sink, counts: { oldestSeconds: _, ...counts } }: CountedSink) => ({
  name: sink.name,
  kind: sink.kind,
  address: sink.address,
  from: sink.fromMonth,
  enabled: sink.isEnabled,
  nextAttemptAt: sink.nextAttemptAt,
  failures: sink.failures,
  lastError: sink.lastError,
  ...counts,
})

const customerToWire = ({ externalId }: SinkCustomer) => ({ externalID: externalId })

/** The billing engines to which usage is sent. */
export const sinkGroup = defineGroup({
  needs: {
    clock: ClockPort,
    entropy: EntropyPort,
    secretBox: SecretBoxPort,
    sinks: SinkStorePort,
    unitOfWork: SinkUnitOfWorkPort,
  },
  routes: (given) => [
    handle(listSinks, makeListSinks(given), { reply: (sinks) => sinks.map(sinkToWire) }),
    handle(putSink, makePutSink(given), {
      input: ({ params, body: { from, enabled, ...details } }) => ({
        ...details,
        name: params.sink,
        fromMonth: from,
        isEnabled: enabled,
      }),
      reply: sinkToWire,
    }),
    handle(getSinkCustomer, makeGetSinkCustomer(given), {
      input: ({ grant, params }) => ({ name: params.sink, ownerId: grant.ownerId }),
      reply: customerToWire,
    }),
    handle(putSinkCustomer, makePutSinkCustomer(given), {
      input: ({ grant, params, body }) => ({
        name: params.sink,
        ownerId: grant.ownerId,
        externalId: body.externalID,
      }),
      reply: customerToWire,
    }),
    handle(listSinkEvents, makeListWaiting(given), {
      input: ({ params, page }) => ({ name: params.sink, page }),
      reply: ({ id, ref, accountName, contractId, thousandths, ...event }) => ({
        id,
        eventID: ref,
        account: accountName,
        month: event.month,
        revision: event.revision,
        contractID: contractId,
        product: event.product,
        measure: event.measure,
        use: event.use,
        value: minorText(thousandths, 3),
        state: event.state,
        reason: event.reason,
        createdAt: event.createdAt,
      }),
    }),
    handle(resolveSinkEvent, makeResolveEvent(given), {
      input: ({ params, body }) => ({ name: params.sink, eventId: params.eventID, resolution: body.as }),
    }),
  ],
})
