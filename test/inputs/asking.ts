import test, { type ExecutionContext } from 'ava'
import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import type { BoundRoute } from '../../plugins/kit/route.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { password, startPopulatedService } from '../support/populated-service.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { repeats } from '../support/thorough.ts'

/** A JSON route and whoever is admitted to it. */
export interface Asked {
  readonly route: AssembledRoute
  readonly bound: BoundRoute
  readonly credential: SendOptions
}

/** Every JSON route of the service, with the credential of someone who may use it. */
export const askable = (service: PopulatedService): readonly Asked[] =>
  service.running.assembly.routes.flatMap((route): readonly Asked[] => {
    const { bound } = route
    if (bound.kind !== 'json') return []
    const wantsPassword = bound.route.access.kind === 'password'
    return [
      {
        route,
        bound,
        credential: wantsPassword ? { basic: [service.fixture.people.owner, password] } : { token: service.adminToken },
      },
    ]
  })

/** Chooses what is tried at a place of a kind. */
export type Rotation = <A>(kind: string, all: readonly A[]) => readonly A[]

/**
 * Returns all of it where a place of that kind occurs for the first time, and a sixteenth of it, in rotation, at the
 * further ones, which the same code reads. A thorough run tries all of it everywhere.
 */
export const makeRotation = (): Rotation => {
  const shares = repeats(16, 1)
  const met = new Set<string>()
  let turn = 0
  return (kind, all) => {
    if (!met.has(kind)) {
      met.add(kind)
      return all
    }
    turn += 1
    return all.filter((_, index) => index % shares === turn % shares)
  }
}

/** The errors of SCIM, by RFC 7644 §3.12. */
const hasScimShape = ({ json, headers, status }: ServiceAnswer): boolean => {
  const body = json as { detail?: unknown; status?: unknown } | undefined
  return (
    headers['content-type'] === 'application/scim+json' &&
    typeof body?.detail === 'string' &&
    body.detail !== '' &&
    body.status === String(status)
  )
}

const hasShape = ({ json, headers }: ServiceAnswer): boolean => {
  const body = json as { message?: unknown; url?: unknown; requestId?: unknown } | undefined
  return (
    typeof body?.message === 'string' &&
    body.message !== '' &&
    typeof body.url === 'string' &&
    /^application\/json/.test(String(headers['content-type']))
  )
}

/** The other side of a cluster route, and what these services do not have: it is documented that it may not answer. */
const isUpstream = ({ json }: ServiceAnswer): boolean =>
  /Cluster|Credential|Address|CustomTokensOff/.test(String((json as { code?: unknown } | undefined)?.code))

/** What is wrong with an answer to bad input, or undefined. `wanted` is the list of statuses that are right. */
export const fault = (answer: ServiceAnswer, wanted?: readonly number[]): string | undefined => {
  if (answer.status >= 500 && !isUpstream(answer)) return `${answer.status} ${answer.text.slice(0, 200)}`
  if (wanted !== undefined && !wanted.includes(answer.status))
    return `${answer.status}, not ${wanted.join(' or ')}: ${answer.text.slice(0, 200)}`
  return answer.status >= 400 && !hasShape(answer) && !hasScimShape(answer)
    ? `${answer.status} without the documented body: ${answer.text.slice(0, 200)}`
    : undefined
}

/**
 * What is in the log of changes, without downloads and the tokens of kubeconfigs: the GETs that make them are asked
 * with good input too.
 */
const changes = (service: PopulatedService): unknown =>
  service.rows(
    "select action, count(*) as n from audit_events where result <> 'denied' and action not in ('cluster.token_created', 'document.downloaded') and object_name not like 'kubeconfig-%' group by action order by action",
  )

let started: Promise<PopulatedService> | undefined
test.after.always(async () => (await started)?.stop())

/**
 * Runs bad input against a service; afterwards nothing may have changed and no line above `info` may have been logged.
 * One service is enough for the tests of a file, since none has an effect.
 */
export const withoutEffect = async (
  t: ExecutionContext,
  work: (service: PopulatedService) => Promise<readonly string[]>,
): Promise<void> => {
  const service = await (started ??= startPopulatedService())
  const before = changes(service)
  const logged = service.logText().length
  t.deepEqual((await work(service)).slice(0, 30), [])
  t.deepEqual(changes(service), before, 'nothing was changed')
  const lines = service
    .logText()
    .slice(logged)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
  const loud = lines.filter((line) => Number(line['level']) >= 50)
  t.deepEqual(loud.slice(0, 5), [], 'nothing was logged as an error')
  t.is(({} as Record<string, unknown>)['polluted'], undefined)
  t.is((await service.send('GET', '/api/v1/version')).status, 200)
}
