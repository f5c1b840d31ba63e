import { Agent, request } from 'undici'
import type { KubeObject } from '../support/fake-api/kube-object.ts'
import type { ControlPlaneAccess, KubernetesAnswer } from '../support/components/control-plane-access.ts'
import { reconcile, workloadResources, type Effect } from '../support/workloads/reconcile.ts'
import { isTimed } from '../support/workloads/workload-outcome.ts'

/** Does in one namespace of a real kube-apiserver what the controllers and nodes of a cluster do. */
export interface WorkloadController {
  /** What it could not do, for messages: an empty list, unless something is wrong with the controller itself. */
  readonly complaints: readonly string[]
  stop(): Promise<void>
}

/** Watched so that their deletions in the foreground come to an end. */
const others = [
  ['v1', 'configmaps'],
  ['v1', 'secrets'],
  ['v1', 'services'],
  ['v1', 'serviceaccounts'],
] as const
const watched = [...workloadResources, ...others]

const tickMilliseconds = 30
const ticksToResync = 30
const finalizersOfDeletion: ReadonlySet<string> = new Set(['foregroundDeletion', 'orphan'])
const merge = { contentType: 'application/merge-patch+json' }

/** Ready when it watches. */
export const startWorkloadController = async (
  server: ControlPlaneAccess,
  namespace: string,
): Promise<WorkloadController> => {
  const objects = new Map<string, KubeObject>()
  const complaints: string[] = []
  const stopping = new AbortController()
  const dispatcher = new Agent({ connect: { ca: server.caPem }, bodyTimeout: 0 })
  let isDue = false

  const notice = (type: string, object: KubeObject): void => {
    const uid = object.metadata.uid ?? ''
    isDue = true
    if (type !== 'DELETED') return void objects.set(uid, object)
    objects.delete(uid)
    for (const each of objects.values())
      if (each.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true) void remove(each)
  }

  const watch = async (apiVersion: string, resource: string): Promise<{ readonly ended: Promise<void> }> => {
    const url = `${server.url}${collectionPath(apiVersion, resource, namespace)}?watch=true&resourceVersion=0`
    const response = await request(url, {
      dispatcher,
      signal: stopping.signal,
      headers: { authorization: `Bearer ${server.tokenFor('admin')}` },
    })
    if (response.statusCode !== 200) throw new Error(`${resource} cannot be watched: ${await response.body.text()}`)
    const read = async (): Promise<void> => {
      let rest = ''
      for await (const chunk of response.body.setEncoding('utf8') as AsyncIterable<string>) {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          const event = JSON.parse(line) as { readonly type: string; readonly object: KubeObject }
          notice(event.type, event.object)
        }
      }
    }
    const ended = read().catch((error: unknown) => {
      if (!stopping.signal.aborted) complaints.push(String(error))
    })
    return { ended }
  }

  const told = (answer: KubernetesAnswer, effect: string, object: KubeObject): void => {
    if (answer.status < 300) return
    // Others change objects too: what is gone, or has changed since then, is looked at again.
    if ([404, 409].includes(answer.status)) return void (isDue = true)
    complaints.push(`${effect} ${object.kind} ${object.metadata.name}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
  const remove = async (object: KubeObject): Promise<void> => {
    told(await server.request('DELETE', `${pathOf(object)}?propagationPolicy=Background`), 'remove', object)
  }
  const perform = async (effect: Effect): Promise<void> => {
    const { object } = effect
    if (effect.do === 'remove') return remove(object)
    if (effect.do === 'create')
      return told(await server.request('POST', pathOf(object).replace(/\/[^/]+$/, ''), object), 'create', object)
    const change = effect.do === 'scale' ? { spec: { replicas: effect.replicas } } : { status: effect.status }
    const version = { metadata: { resourceVersion: object.metadata.resourceVersion } }
    told(
      await server.request(
        'PATCH',
        `${pathOf(object)}${effect.do === 'status' ? '/status' : ''}`,
        { ...version, ...change },
        merge,
      ),
      effect.do,
      object,
    )
  }
  /** What a deletion waits for is done: the children of `foregroundDeletion` go first. */
  const letGo = async (object: KubeObject): Promise<void> => {
    const finalizers = object.metadata.finalizers ?? []
    if (object.metadata.deletionTimestamp === undefined || !finalizers.some((name) => finalizersOfDeletion.has(name)))
      return
    if (finalizers.includes('foregroundDeletion')) {
      for (const each of objects.values())
        if (each.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) === true) await remove(each)
    }
    const left = finalizers.filter((name) => !finalizersOfDeletion.has(name))
    told(await server.request('PATCH', pathOf(object), { metadata: { finalizers: left } }, merge), 'finish', object)
  }
  const round = async (): Promise<void> => {
    isDue = false
    const now = Date.now()
    const fixture = [...objects.values()]
    for (const object of fixture) {
      for (const effect of reconcile(object, fixture, now)) await perform(effect)
      await letGo(object)
      if (isTimed(object, now)) isDue = true
    }
  }

  const reading = await Promise.all(watched.map(([apiVersion, resource]) => watch(apiVersion, resource)))
  const working = (async () => {
    for (let tick = 0; !stopping.signal.aborted; tick += 1) {
      // As controllers do: an object that needs something more gets it although no event tells of it.
      if (isDue || tick % ticksToResync === 0) await round()
      await new Promise((resolve) => setTimeout(resolve, tickMilliseconds))
    }
  })()
  return {
    complaints,
    stop: async () => {
      stopping.abort()
      await working
      await Promise.all(reading.map(({ ended }) => ended))
      await dispatcher.destroy()
    },
  }
}

const collectionPath = (apiVersion: string, resource: string, namespace: string): string =>
  `${apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`}/namespaces/${namespace}/${resource}`

const pathOf = ({ apiVersion, kind, metadata }: KubeObject): string => {
  const resource = watched.find(
    ([version, plural]) => version === apiVersion && plural === `${kind.toLowerCase()}s`,
  )?.[1]
  if (resource === undefined) throw new Error(`${apiVersion} ${kind} is not watched`)
  return `${collectionPath(apiVersion, resource, metadata.namespace ?? '')}/${metadata.name}`
}
