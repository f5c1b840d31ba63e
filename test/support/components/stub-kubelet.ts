import { randomBytes } from 'node:crypto'
import { Agent, request } from 'undici'
import { startProcess, untilReady } from './background-process.ts'
import type { ControlPlaneAccess } from './control-plane-access.ts'
import { goBuilt } from './go-build.ts'
import { sayOnStderr, type Say } from './progress.ts'
import { createRunFolder, removeRunFolder } from './run-folder.ts'

/**
 * A node whose pods run canned containers, so that logs, exec, attach and port-forward pass
 * through a real kube-apiserver. What the containers do is told in
 * `kubernetes-assets/stub-kubelet/containers.go`.
 */
export interface StubKubelet {
  readonly nodeName: string
  /** Creates a pod with a container `main` on the node, and reports it running. */
  runPod(namespace: string, name: string): Promise<void>
  /** How many logs, execs, attaches and port-forwards are open now. */
  openStreams(): Promise<number>
  stop(): Promise<void>
}

/** The port of every stub pod that answers with what it was sent; other ports lead to this machine. */
export const echoPort = 7

/** Starts a kubelet and registers its node under a name of its own. */
export async function startStubKubelet(controlPlane: ControlPlaneAccess, say: Say = sayOnStderr): Promise<StubKubelet> {
  const file = await goBuilt('stub-kubelet', say)
  const folder = createRunFolder('kubelet')
  const kubelet = startProcess({ name: 'stub-kubelet', file, folder, arguments: [folder] })
  let port = 0
  await untilReady(
    kubelet,
    () => {
      port = Number(/^listening (\d+)$/m.exec(kubelet.output())?.[1] ?? 0)
      return port > 0
    },
    20_000,
  )
  const nodeName = `node-${randomBytes(6).toString('hex')}`
  const create = creator(controlPlane)
  await create('/api/v1/nodes', nodeOf(nodeName, port))
  // It signs itself anew at each start; only its loopback port is known.
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
  return {
    nodeName,
    runPod: (namespace, name) => create(`/api/v1/namespaces/${namespace}/pods`, podOf(namespace, name, nodeName)),
    openStreams: async () => {
      const answer = await request(`https://127.0.0.1:${port}/open-streams`, { dispatcher })
      return ((await answer.body.json()) as { openStreams: number }).openStreams
    },
    stop: async () => {
      await controlPlane.request('DELETE', `/api/v1/nodes/${nodeName}`)
      await dispatcher.close()
      await kubelet.stop()
      removeRunFolder(folder)
    },
  }
}

interface WithStatus {
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly status: object
}

/** Creates an object and then its status, which a create drops. */
function creator(controlPlane: ControlPlaneAccess): (collection: string, wanted: WithStatus) => Promise<void> {
  return async (collection, wanted) => {
    const created = await controlPlane.request('POST', collection, wanted)
    if (created.status !== 201) throw new Error(`${wanted.metadata.name} was refused: ${JSON.stringify(created)}`)
    const path = `${collection}/${wanted.metadata.name}/status`
    const patch = { status: wanted.status }
    const reported = await controlPlane.request('PATCH', path, patch, { contentType: 'application/merge-patch+json' })
    if (reported.status !== 200)
      throw new Error(`the status of ${wanted.metadata.name} was refused: ${JSON.stringify(reported)}`)
  }
}

function nodeOf(name: string, port: number): WithStatus & Record<string, unknown> {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: {
      addresses: [
        { type: 'InternalIP', address: '127.0.0.1' },
        { type: 'Hostname', address: name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'a stub is always ready' }],
    },
  }
}

function podOf(namespace: string, name: string, nodeName: string): WithStatus & Record<string, unknown> {
  const startedAt = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: { nodeName, containers: [{ name: 'main', image: 'stub', ports: [{ containerPort: echoPort }] }] },
    status: {
      phase: 'Running',
      hostIP: '127.0.0.1',
      podIP: '127.0.0.1',
      startTime: startedAt,
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [
        {
          name: 'main',
          image: 'stub',
          imageID: 'stub',
          containerID: 'stub://main',
          ready: true,
          started: true,
          restartCount: 0,
          state: { running: { startedAt } },
        },
      ],
    },
  }
}
