import * as t from 'io-ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { maxEvents } from '../../core/usage/events/event-rules.ts'
import { eventTypes, refusalReasons } from '../../core/usage/events/types.ts'
import { usageProducts } from '../../core/usage/types.ts'
import {
  answer,
  described,
  Float,
  FreeObjectCodec,
  freeText,
  givenText,
  Instant,
  InstantText,
  listOf,
  naming,
  noted,
  oneOf,
  optional,
  pathName,
  patternText,
  plainValue,
  queryId,
  repeatable,
  request,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'

export const UsageOwnerPath = request(
  { owner: described(pathName('account'), 'The login of the account to which the cluster belongs.') },
  'UsageOwnerPath',
)

const words = (values: readonly string[]): string => values.map((value) => `\`${value}\``).join(', ')

/** An event. Only the types of the fields are checked here: what is wrong with an event is in its result. */
export const UsageEvent = request(
  {
    id: noted(givenText(), { description: 'Of the sender: 1 to 255 characters.' }),
    type: noted(givenText(), { description: words(eventTypes) }),
    time: noted(InstantText, {
      description:
        'When it happened: at most 35 days ago, and at most 5 minutes ahead. A fraction of a second is ' +
        'left out. What is billed begins and ends at these times, not when the event arrives.',
    }),
    product: optional(noted(givenText(), { description: words(usageProducts) })),
    group: described(optional(givenText()), 'The API group of the kind of the object. Events of objects need it.'),
    kind: described(optional(givenText()), 'The kind of the object, as in its manifest. Events of objects need it.'),
    uid: described(optional(givenText()), 'The UID of the object, a UUID. Events of objects need it.'),
    namespace: described(
      optional(givenText()),
      'The namespace of the object, or the one that the event is about: a DNS label.',
    ),
    namespaceUID: described(optional(givenText()), 'The UID of that namespace, a UUID.'),
    name: described(optional(givenText()), 'The name of the object, 1 to 253 characters. Events of objects need it.'),
    generation: optional(
      noted(SafeInteger, {
        description:
          'Of the object, from 0. Generations may arrive in any order. A change applies from its time on, ' +
          'unless one of a higher generation applies already. A change is known by its object, generation and type.',
      }),
    ),
    createdAt: optional(
      noted(InstantText, {
        description:
          'When the object, or the namespace, was created. It is the same in all events of an object, and ' +
          'from then on the object counts, at most 35 days before the time of its creation event.',
      }),
    ),
    trial: described(
      optional(t.boolean),
      'Of an event that creates an object: the object is a trial, if its contract allows that. By default false.',
    ),
    milliCPU: optional(
      noted(SafeInteger, {
        description:
          'Thousandths of a core that all replicas of the object occupy together: 0 to 1,000,000,000. It ' +
          'is what is billed; it is not multiplied by `replicas`.',
      }),
    ),
    memoryMiB: optional(
      noted(SafeInteger, {
        description:
          'MiB that all replicas of the object occupy together: 0 to 1,000,000,000. It is not multiplied ' +
          'by `replicas`.',
      }),
    ),
    replicas: optional(
      noted(SafeInteger, {
        description:
          'How many replicas occupy them, 1 without it; only shown. An object with 0 replicas occupies nothing.',
      }),
    ),
    details: optional(
      noted(FreeObjectCodec, {
        description:
          '`{pods: [{milliCPU, memoryMiB, count}], volumes: [{name, sizeMiB, createdAt}]}`; `milliCPU` and ' +
          '`memoryMiB` of one pod. All pods together occupy at most what the object does.',
      }),
    ),
    mode: optional(noted(givenText(), { description: 'Only `prod` is production.' })),
    labels: described(
      optional(FreeObjectCodec),
      'The labels of a namespace: an object of texts, up to 16,000 characters of JSON; none by default.',
    ),
    annotations: described(
      optional(FreeObjectCodec),
      'The annotations of a namespace: an object of texts, up to 16,000 characters of JSON; none by default.',
    ),
  },
  'UsageEvent',
)

export const UsageEventReport = request(
  {
    clusterUID: described(
      givenText(),
      'The UID of the cluster in which the events happened: that of its namespace kube-system.',
    ),
    events: described(listOf(UsageEvent, maxEvents, 1), 'The events, in any order.'),
  },
  'UsageEventReport',
)

export const UsageEventResult = answer(
  {
    id: described(t.string, 'The id that the sender gave the event.'),
    result: noted(oneOf('accepted', 'repeated', 'refused'), {
      description: '`repeated`: the event, or an equal one, was received before.',
    }),
    reason: described(
      optional(oneOf(...refusalReasons)),
      'Why the event was refused. `invalid`: a field is missing or wrong. `too-early`: more than 5 minutes ' +
        'ahead. `too-late`: more than 35 days ago. `conflict`: another content was received before.',
    ),
    message: described(optional(t.string), 'What is wrong with a refused event, in one sentence.'),
  },
  'UsageEventResult',
)
export const UsageEventResults = answer(
  { results: described(t.readonlyArray(UsageEventResult), 'One for each event, in the order of the request.') },
  'UsageEventResults',
)

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
export const resultsExample = {
  results: [
    { id: '3b0f3a8e-5e1c-4f0a-8c58-0d5c1f3f7a10.1', result: 'accepted' },
    { id: 'heartbeat-2026-11-22T10', result: 'accepted' },
  ],
}

export const UsageBusCredentials = answer(
  {
    endpoints: described(
      t.readonlyArray(t.string),
      'The addresses of the servers of the bus, the preferred one first.',
    ),
    credentials: noted(t.string, {
      type: 'string',
      format: 'byte',
      description: 'A credentials file of the bus, in base64.',
    }),
  },
  'UsageBusCredentials',
)
export const credentialsExample = {
  endpoints: ['nats://bus.example.com:4222'],
  credentials: 'LS0tLS1CRUdJTiBOQVRTIFVTRVIgSldULS0tLS0KLi4uCi0tLS0tLUVORCBOQVRTIFVTRVIgSldULS0tLS0tCg==',
}

export const SystemOutageRequest = request(
  {
    accountName: optional(noted(freeText(40), { description: 'All accounts without it.' })),
    clusterID: optional(noted(freeText(36), { description: 'The UID of a cluster; all clusters without it.' })),
    start: described(Instant, 'The first instant of the outage.'),
    end: described(Instant, 'The instant just after the outage.'),
    tags: described(
      optional(t.readonlyArray(freeText(64))),
      'Words by which outages are counted, at most 64 characters each; none by default.',
    ),
    comments: described(optional(textLines(4000)), 'Text for people, at most 4,000 characters; empty by default.'),
  },
  'SystemOutageRequest',
)

export const SystemOutageApiForm = answer(
  {
    id: described(SafeInteger, 'The id of the outage.'),
    accountID: noted(SafeInteger, { description: '0 if the outage concerns all accounts.' }),
    accountName: described(t.string, 'The login of the account that the outage concerns; empty if it concerns all.'),
    clusterID: described(t.string, 'The UID of the cluster that the outage concerns; empty if it concerns all.'),
    start: described(Instant, 'The first instant of the outage.'),
    end: described(Instant, 'The instant just after the outage.'),
    tags: described(t.readonlyArray(t.string), 'The words by which the outage is counted.'),
    comments: described(t.string, 'Text for people; may be empty.'),
    createdAt: described(Instant, 'When the outage was recorded.'),
  },
  'SystemOutageApiForm',
)
const TagPercentage = answer(
  {
    tag: described(t.string, 'A tag of outages.'),
    percentage: described(Float, 'How many of the outages have it, in percent.'),
  },
  'TagPercentage',
)
const EntityDurationPercentage = answer(
  {
    entity: described(t.string, 'The id of the account, or the UID of the cluster.'),
    entityName: described(t.string, 'The name of the account or cluster.'),
    durationHours: described(Float, 'How long its outages last together, in hours.'),
    percentage: described(Float, 'Its share of the hours of all outages, in percent.'),
  },
  'EntityDurationPercentage',
)
export const SystemOutageReport = answer(
  {
    totalOutages: described(SafeInteger, 'How many outages are counted.'),
    totalDurationHours: described(Float, 'How long they last together, in hours.'),
    topTagsPercentage: described(t.readonlyArray(TagPercentage), 'The most frequent tags, the most frequent first.'),
    topAccountsDuration: described(
      t.readonlyArray(EntityDurationPercentage),
      'The accounts with the longest outages, the longest first.',
    ),
    topClustersDuration: described(
      t.readonlyArray(EntityDurationPercentage),
      'The clusters with the longest outages, the longest first.',
    ),
  },
  'SystemOutageReport',
)
export const SystemOutagesAndReportAPIForm = answer(
  {
    report: described(SystemOutageReport, 'What the outages add up to.'),
    entries: described(t.readonlyArray(SystemOutageApiForm), 'The outages, the newest first.'),
  },
  'SystemOutagesAndReportAPIForm',
)

/** An instant in a query string. */
export const OutageReportQuery = request(
  {
    start: described(optional(plainValue(Instant)), 'Only outages that end after this instant; all by default.'),
    account_id: described(
      optional(queryId<AccountId>('account')),
      'Only outages of the account with this id; all by default.',
    ),
    cluster_id: described(
      optional(naming(patternText(/^[0-9a-fA-F-]{1,36}$/, 36, 'the UID of a cluster'), 'cluster', 'uid')),
      'Only outages of the cluster with this UID; all by default.',
    ),
    tags: described(repeatable(plainValue(freeText(64))), 'Only outages with one of these tags; all by default.'),
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
  report: {
    totalOutages: 1,
    totalDurationHours: 2.5,
    topTagsPercentage: [{ tag: 'network', percentage: 100 }],
    topAccountsDuration: [],
    topClustersDuration: [],
  },
  entries: [outageExample],
}
