import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { CredentialEnd } from '../../../core/clusters/connections.ts'
import { makeCredentialEnds } from '../../../core/clusters/connections.ts'
import type { ClusterApi, ClusterTransport, ReachFailure } from '../../../core/clusters/ports.ts'
import { ClusterStorePort, CredentialCodecPort } from '../../../core/clusters/ports.ts'
import type { ClusterLink } from '../../../core/clusters/types.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import { ClockPort, PauseInLongTurnPort } from '../../../core/kernel/clock.ts'
import { SecretBoxPort } from '../../../core/kernel/secret.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import type { Counts, Sample } from '../../part/gauges.ts'
import { defineGauges, makeCounts } from '../../part/gauges.ts'

/** What member clusters answered to this process since its start, and which of them failed. */
export interface ClusterAnswers {
  readonly byOutcome: Counts
  readonly failures: Counts
  note(link: ClusterLink, outcome: Either<ReachFailure, number>): void
}
export const ClusterAnswersPort = portKey<ClusterAnswers>('clusters.Answers')

/** Clusters that a metric tells apart, in the order of their first failure; the rest is `other`. */
const mostClusters = 50
const mostReasons = 40
/** What a driver says of a connection, such as ECONNREFUSED. */
const codeForm = /^[A-Z][A-Z0-9_]{2,40}$/

/** Returns why a request failed, of a closed list but for the codes of the driver. */
const reasonOf = ({ tag, reason = '' }: ReachFailure): string => (codeForm.test(reason) ? reason : tag)

export const makeClusterAnswers = (): ClusterAnswers => {
  const byOutcome = makeCounts(['outcome'], mostReasons)
  const failures = makeCounts(['cluster', 'reason'], mostClusters)
  const reasons = new Set<string>()
  const fail = ({ ownerName, name }: ClusterLink, reason: string): void => {
    const isKnown = reasons.has(reason) || reasons.size < mostReasons
    if (isKnown) reasons.add(reason)
    failures.add(`${ownerName}/${name}`, isKnown ? reason : 'other')
  }
  return {
    byOutcome,
    failures,
    note(link, outcome) {
      if (isLeft(outcome)) {
        byOutcome.add(outcome.left.tag)
        fail(link, reasonOf(outcome.left))
      } else if (outcome.right >= 500) {
        byOutcome.add('answered_5xx')
        fail(link, `HTTP ${outcome.right}`)
      } else byOutcome.add('answered')
    },
  }
}

/** Counts the answers to requests of this service. */
export const countedApi = (api: ClusterApi, answers: ClusterAnswers): ClusterApi => ({
  ...api,
  async request(connection, request, signal) {
    const outcome = await api.request(connection, request, signal)
    if (!signal.aborted)
      answers.note(connection.link, isLeft(outcome) ? outcome : { ...outcome, right: outcome.right.status })
    return outcome
  },
})

/** Counts the answers that are passed on to callers. */
export const countedTransport = (transport: ClusterTransport, answers: ClusterAnswers): ClusterTransport => ({
  ...transport,
  async relay(connection, upstream, exchange, signal) {
    const outcome = await transport.relay(connection, upstream, exchange, signal)
    if (isLeft(outcome) || outcome.right > 0) answers.note(connection.link, outcome)
    return outcome
  },
  async tunnel(connection, upstream, exchange, signal) {
    const outcome = await transport.tunnel(connection, upstream, exchange, signal)
    answers.note(connection.link, isLeft(outcome) ? outcome : { ...outcome, right: 101 })
    return outcome
  },
})

/** Clusters of which the end of the credential is shown. */
const mostEnds = 50
const endsMilliseconds = 3_600_000

/** Returns the ends that were read last. They are read again after an hour, beside the scrape that asks for them. */
const makeKeptEnds = (read: (now: Date, most: number) => Promise<readonly CredentialEnd[]>, clock: Clock) => {
  let kept: readonly CredentialEnd[] = []
  let readAt = Number.NEGATIVE_INFINITY
  return (): readonly Sample[] => {
    const now = performance.now()
    if (now - readAt > endsMilliseconds) {
      readAt = now
      read(clock.now(), mostEnds).then(
        (ends) => void (kept = ends),
        // The database is away. The next scrape tries again.
        () => void (readAt = Number.NEGATIVE_INFINITY),
      )
    }
    return kept.map(({ ownerName, name, at }) => ({
      labels: { cluster: `${ownerName}/${name}` },
      value: at.getTime() / 1000,
    }))
  }
}

export const clusterGauges = defineGauges(
  {
    moorage_cluster_answers_total: {
      type: 'counter',
      help:
        'Answers of member clusters: answered, answered_5xx, or why there was none: ClusterUnreachable, ' +
        'CredentialRefused, AddressRefused.',
      label: 'outcome',
    },
    moorage_cluster_failures_total: {
      type: 'counter',
      help:
        'Requests to a member cluster that failed, by the reason: what the driver says of the connection, or the ' +
        'status. The first 50 clusters that failed have series of their own; the rest is other.',
      label: ['cluster', 'reason'],
    },
    moorage_cluster_credential_expiry_timestamp_seconds: {
      help:
        'When the client certificate, or the token, with which this service connects to a cluster ends, as Unix ' +
        'time. Of the 50 clusters with the nearest end, read each hour.',
      label: 'cluster',
    },
    moorage_clusters: { help: 'Records of clusters by the phase that was found last.', label: 'phase' },
  },
  {
    answers: ClusterAnswersPort,
    clusters: ClusterStorePort,
    secretBox: SecretBoxPort,
    codec: CredentialCodecPort,
    clock: ClockPort,
    pause: PauseInLongTurnPort,
  },
  ({ answers, clusters, secretBox, codec, clock, pause }) => {
    const ends = makeKeptEnds(makeCredentialEnds({ clusters, secretBox, codec, pause }), clock)
    return async () => ({
      moorage_cluster_credential_expiry_timestamp_seconds: ends(),
      moorage_cluster_answers_total: answers.byOutcome.samples(),
      moorage_cluster_failures_total: answers.failures.samples(),
      moorage_clusters: await clusters.countByPhase(),
    })
  },
)
