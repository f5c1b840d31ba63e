import * as t from 'io-ts'
import { maxEvents } from '../../core/usage/events/event-rules.ts'
import { eventTypes, refusalReasons } from '../../core/usage/events/types.ts'
import { usageProducts } from '../../core/usage/types.ts'
import { answer, FreeObjectCodec, freeText, InstantText, listOf, noted, oneOf, optional, PathName, request, SafeInteger } from '../kit/codecs.ts'

export const UsageOwnerPath = request({ owner: PathName }, 'UsageOwnerPath')

const words = (values: readonly string[]): string => values.map((value) => `\`${value}\``).join(', ')

/** An event. Only the types of the fields are checked here: what is wrong with an event is in its result. */
export const UsageEvent = request(
  {
    id: noted(freeText(), { description: 'Of the sender: 1 to 255 characters.' }),
    type: noted(freeText(), { description: words(eventTypes) }),
    time: InstantText,
    product: optional(noted(freeText(), { description: words(usageProducts) })),
    group: optional(freeText()),
    kind: optional(freeText()),
    uid: optional(freeText()),
    namespace: optional(freeText()),
    namespaceUID: optional(freeText()),
    name: optional(freeText()),
    generation: optional(SafeInteger),
    createdAt: optional(InstantText),
    trial: optional(t.boolean),
    milliCPU: optional(SafeInteger),
    memoryMiB: optional(SafeInteger),
    replicas: optional(SafeInteger),
    details: optional(noted(FreeObjectCodec, { description: '`{pods: [{milliCPU, memoryMiB, count}], volumes: [{name, sizeMiB, createdAt}]}`' })),
    mode: optional(noted(freeText(), { description: 'Only `prod` is production.' })),
    labels: optional(FreeObjectCodec),
    annotations: optional(FreeObjectCodec),
  },
  'UsageEvent',
)

export const UsageEventReport = request({ clusterUID: freeText(), events: listOf(UsageEvent, maxEvents, 1) }, 'UsageEventReport')

export const UsageEventResult = answer(
  {
    id: t.string,
    result: noted(oneOf('accepted', 'repeated', 'refused'), { description: '`repeated`: the event, or an equal one, was received before.' }),
    reason: optional(oneOf(...refusalReasons)),
    message: optional(t.string),
  },
  'UsageEventResult',
)
export const UsageEventResults = answer({ results: t.readonlyArray(UsageEventResult) }, 'UsageEventResults')

export const reportExample = {
  clusterUID: '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11',
  events: [
    {
      id: '3b0f3a8e-5e1c-4f0a-8c58-0d5c1f3f7a10.1',
      type: 'object.created',
      time: '2026-11-22T10:00:05Z',
      product: 'dbProduct',
      group: 'databases.example.com',
      kind: 'Postgres',
      uid: '3b0f3a8e-5e1c-4f0a-8c58-0d5c1f3f7a10',
      namespace: 'shop',
      namespaceUID: '5d0e4d9a-7c40-4c55-9d3e-0b1f6a2b9c01',
      name: 'orders',
      generation: 1,
      createdAt: '2026-11-22T10:00:00Z',
      milliCPU: 1500,
      memoryMiB: 4096,
      replicas: 3,
    },
    { id: 'heartbeat-2026-11-22T10', type: 'cluster.heartbeat', time: '2026-11-22T10:00:00Z' },
  ],
}
export const resultsExample = { results: [{ id: '3b0f3a8e-5e1c-4f0a-8c58-0d5c1f3f7a10.1', result: 'accepted' }, { id: 'heartbeat-2026-11-22T10', result: 'accepted' }] }

export const UsageBusCredentials = answer(
  { endpoints: t.readonlyArray(t.string), credentials: noted(t.string, { type: 'string', format: 'byte', description: 'A credentials file of the bus, in base64.' }) },
  'UsageBusCredentials',
)
export const credentialsExample = { endpoints: ['nats://bus.example.com:4222'], credentials: 'LS0tLS1CRUdJTiBOQVRTIFVTRVIgSldULS0tLS0KLi4uCi0tLS0tLUVORCBOQVRTIFVTRVIgSldULS0tLS0tCg==' }
