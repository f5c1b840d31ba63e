import type { ServerAddress } from '../api/kube-client.ts'
import { kubeconfigText } from '../control-plane/seed-hub.ts'
import { headersOf, startForwardingServer } from './forwarding-server.ts'

/** A server in front of an API server, whose answers can be lost. */
export interface LossyEntrance {
  readonly kubeconfig: string
  /** Resolves when the API server has done the next request of that kind. Its caller never hears of it. */
  loseAnswer(method: string, path: RegExp): Promise<void>
  stop(): Promise<void>
}

export const startLossyEntrance = async (
  server: ServerAddress & { readonly tokenFor: (user: 'admin') => string },
): Promise<LossyEntrance> => {
  let trap: { readonly isMeant: (method: string, path: string) => boolean; readonly sprung: () => void } | undefined
  const forwarder = await startForwardingServer('lossy-entrance', (incoming) => {
    const [path = '/'] = (incoming.url ?? '/').split('?')
    const upstream = { server, path: incoming.url ?? '/', headers: headersOf(incoming) }
    if (trap?.isMeant(incoming.method ?? 'GET', path) !== true) return upstream
    const { sprung } = trap
    trap = undefined
    return {
      ...upstream,
      beforeAnswer: () => {
        sprung()
        return new Promise<never>(() => undefined)
      },
    }
  })
  return {
    kubeconfig: kubeconfigText(forwarder.server, server.tokenFor('admin')),
    loseAnswer: (method, path) =>
      new Promise((sprung) => {
        trap = { isMeant: (asked, where) => asked === method && path.test(where), sprung }
      }),
    stop: () => forwarder.stop(),
  }
}
