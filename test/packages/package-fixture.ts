import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expectStatus, importCluster } from '../clusters/cluster-fixture.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { startChartServer, type ChartServer } from './chart-server.ts'
import type { TestChart } from './chart-archive.ts'

/** An event of a task, as its stream carries it. */
interface FollowedEvent {
  readonly seq: number
  readonly id: string
  readonly status: string
  readonly step?: string
  readonly msg: string
  readonly error?: string
  readonly data?: Readonly<Record<string, unknown>>
}

/** A task that has ended. */
export interface FollowedTask {
  readonly id: string
  readonly state: string
  readonly message: string
  readonly error?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly result?: any
  readonly events: readonly FollowedEvent[]
}

type Send = (method: string, path: string, options?: SendOptions) => Promise<ServiceAnswer>

/** Routes of one cluster's packages, as one person. */
export interface PackageClient {
  /** `path` below `/helm`, with its slash. */
  send(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<ServiceAnswer>
  /** A request that must be accepted, and its task to the end, by the stream of events. */
  done(method: string, path: string, body?: unknown): Promise<FollowedTask>
  /** Only accepted: answers the task's id. */
  accepted(method: string, path: string, body?: unknown): Promise<string>
  /** An accepted task to its end. */
  follow(id: string): Promise<FollowedTask>
  cancel(id: string): Promise<ServiceAnswer>
}

/** Reads a whole stream of server-sent events: each must carry its number. */
const readEvents = (text: string): readonly FollowedEvent[] =>
  text.split('\n\n').flatMap((block) => {
    const lines = block.split('\n')
    const data = lines
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).trim())
      .join('\n')
    if (data === '') return []
    const event = JSON.parse(data) as FollowedEvent
    const id = lines
      .find((line) => line.startsWith('id:'))
      ?.slice(3)
      .trim()
    if (id !== String(event.seq)) throw new Error(`event ${event.seq} has the id ${id}`)
    return [event]
  })

/** @param cluster `owner/name` */
export const packageClient = (send: Send, token: string, cluster: string): PackageClient => {
  const below = (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ServiceAnswer> =>
    send(method, `/api/v1/clusters/${cluster}/helm${path}`, {
      token,
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
    })
  const accepted = async (method: string, path: string, body?: unknown): Promise<string> => {
    const { json } = await expectStatus(below(method, path, body), 200)
    const { id, subject } = json as { readonly id?: unknown; readonly subject?: unknown }
    if (typeof id !== 'string' || typeof subject !== 'string')
      throw new Error(`no TaskResponse: ${JSON.stringify(json)}`)
    return id
  }
  const follow = async (id: string): Promise<FollowedTask> => {
    const stream = await expectStatus(
      send('GET', `/api/v1/tasks/${id}/events`, { token, headers: { Accept: 'text/event-stream' } }),
      200,
    )
    const task = await expectStatus(send('GET', `/api/v1/tasks/${id}`, { token }), 200)
    return { ...(task.json as Omit<FollowedTask, 'events'>), events: readEvents(stream.text) }
  }
  const cancel = (id: string): Promise<ServiceAnswer> => send('POST', `/api/v1/tasks/${id}/cancel`, { token })
  return {
    send: below,
    accepted,
    follow,
    cancel,
    done: async (method, path, body) => follow(await accepted(method, path, body)),
  }
}

/** A repository of these charts, and the settings by which a service may reach it. */
export const startCharts = async (
  ...charts: readonly TestChart[]
): Promise<{ readonly charts: ChartServer; readonly settings: Readonly<Record<string, string>> }> => {
  const server = await startChartServer(...charts)
  return { charts: server, settings: { MOORAGE_EGRESS_ALLOW: new URL(server.url).host } }
}

/** Imports a cluster under a new name; answers `owner/name`. */
export const importedAs = async (send: Send, token: string, owner: string, kubeconfig: string): Promise<string> => {
  const name = `c-${randomBytes(4).toString('hex')}`
  await expectStatus(importCluster(send, token, owner, name, kubeconfig), 200)
  return `${owner}/${name}`
}

/**
 * A helm that the service takes although it is older than its floor: tests let no helm fetch or judge anything of a
 * chart's, which is what the floor is for.
 */
export const asNewEnough = (helm3: string): { readonly path: string; remove(): void } => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-helm3-'))
  const path = join(folder, 'helm')
  writeFileSync(path, `#!/bin/sh\n[ "$1" = version ] && { echo v3.18.6; exit 0; }\nexec '${helm3}' "$@"\n`)
  chmodSync(path, 0o755)
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
