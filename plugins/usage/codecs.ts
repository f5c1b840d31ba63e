import * as t from 'io-ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { maxEvents } from '../../core/usage/events/event-rules.ts'
import { eventTypes, refusalReasons } from '../../core/usage/events/types.ts'
import { usageProducts } from '../../core/usage/types.ts'
import {
  answer,
  Float,
  FreeObjectCodec,
  freeText,
  givenText,
  Instant,
  InstantText,
  listOf,
  noted,
  oneOf,
  optional,
  PathName,
  patternText,
  queryId,
  repeatable,
  request,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'

export const UsageOwnerPath = request({ owner: PathName }, 'UsageOwnerPath')

const words = (values: readonly string[]): string => values.map((value) => `\`${value}\``).join(', ')

/** An event. Only the types of the fields are checked here: what is wrong with an event is in its result. */
export const UsageEvent = request(
  {
    id: noted(givenText(), { description: 'Of the sender: 1 to 255 characters.' }),
    type: noted(givenText(), { description: words(eventTypes) }),
    time: noted(InstantText, { description: 'When it happened: at most 35 days ago, and at most 5 minutes ahead. A fraction of a second is left out. What is billed begins and ends at these times, not when the event arrives.' }),
    product: optional(noted(givenText(), { description: words(usageProducts) })),
    group: optional(givenText()),
    kind: optional(givenText()),
    uid: optional(givenText()),
    namespace: optional(givenText()),
    namespaceUID: optional(givenText()),
    name: optional(givenText()),
    generation: optional(
      noted(SafeInteger, {
        description: 'Of the object, from 0. Generations may arrive in any order. A change applies from its time on, unless one of a higher generation applies already. A change is known by its object, generation and type.',
      }),
    ),
    createdAt: optional(noted(InstantText, { description: 'When the object, or the namespace, was created. It is the same in all events of an object, and from then on the object counts, at most 35 days before the time of its creation event.' })),
    trial: optional(t.boolean),
    milliCPU: optional(noted(SafeInteger, { description: 'Thousandths of a core that all replicas of the object occupy together: 0 to 1,000,000,000. It is what is billed; it is not multiplied by `replicas`.' })),
    memoryMiB: optional(noted(SafeInteger, { description: 'MiB that all replicas of the object occupy together: 0 to 1,000,000,000. It is not multiplied by `replicas`.' })),
    replicas: optional(noted(SafeInteger, { description: 'How many replicas occupy them, 1 without it; only shown. An object with 0 replicas occupies nothing.' })),
    details: optional(noted(FreeObjectCodec, { description: '`{pods: [{milliCPU, memoryMiB, count}], volumes: [{name, sizeMiB, createdAt}]}`; `milliCPU` and `memoryMiB` of one pod. All pods together occupy at most what the object does.' })),
    mode: optional(noted(givenText(), { description: 'Only `prod` is production.' })),
    labels: optional(FreeObjectCodec),
    annotations: optional(FreeObjectCodec),
  },
  'UsageEvent',
)

export const UsageEventReport = request({ clusterUID: givenText(), events: listOf(UsageEvent, maxEvents, 1) }, 'UsageEventReport')

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

export const SystemOutageRequest = request(
  {
    accountName: optional(noted(freeText(40), { description: 'All accounts without it.' })),
    clusterID: optional(noted(freeText(36), { description: 'The UID of a cluster; all clusters without it.' })),
    start: Instant,
    end: Instant,
    tags: optional(t.readonlyArray(freeText(64))),
    comments: optional(textLines(4000)),
  },
  'SystemOutageRequest',
)

export const SystemOutageApiForm = answer(
  {
    id: SafeInteger,
    accountID: noted(SafeInteger, { description: '0 if the outage concerns all accounts.' }),
    accountName: t.string,
    clusterID: t.string,
    start: Instant,
    end: Instant,
    tags: t.readonlyArray(t.string),
    comments: t.string,
    createdAt: Instant,
  },
  'SystemOutageApiForm',
)
const TagPercentage = answer({ tag: t.string, percentage: Float }, 'TagPercentage')
const EntityDurationPercentage = answer({ entity: t.string, entityName: t.string, durationHours: Float, percentage: Float }, 'EntityDurationPercentage')
export const SystemOutageReport = answer(
  {
    totalOutages: SafeInteger,
    totalDurationHours: Float,
    topTagsPercentage: t.readonlyArray(TagPercentage),
    topAccountsDuration: t.readonlyArray(EntityDurationPercentage),
    topClustersDuration: t.readonlyArray(EntityDurationPercentage),
  },
  'SystemOutageReport',
)
export const SystemOutagesAndReportAPIForm = answer({ report: SystemOutageReport, entries: t.readonlyArray(SystemOutageApiForm) }, 'SystemOutagesAndReportAPIForm')

/** An instant in a query string. */
export const OutageReportQuery = request(
  {
    start: optional(Instant),
    account_id: optional(queryId<AccountId>()),
    cluster_id: optional(patternText(/^[0-9a-fA-F-]{1,36}$/, 36, 'the UID of a cluster')),
    tags: repeatable(freeText(64)),
  },
  'SystemOutageReportQuery',
)

export const outageExample = {
  id: 3,
  accountID: 0,
  accountName: '',
  clusterID: '',
  start: '2026-11-20T10:00:00.000Z',
  end: '2026-11-20T12:30:00.000Z',
  tags: ['network'],
  comments: 'The message bus was away.',
  createdAt: '2026-11-20T13:00:00.000Z',
}
export const outageReportExample = {
  report: { totalOutages: 1, totalDurationHours: 2.5, topTagsPercentage: [{ tag: 'network', percentage: 100 }], topAccountsDuration: [], topClustersDuration: [] },
  entries: [outageExample],
}
