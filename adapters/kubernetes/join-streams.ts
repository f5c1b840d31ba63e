import type { ByteDuplex } from '../../core/kernel/exchange.ts'

const copy = (from: ByteDuplex, to: ByteDuplex, ended: () => void): void => {
  let isEnded = false
  from.on('data', (chunk) => {
    if (!to.destroyed && !to.write(chunk)) from.pause()
  })
  to.on('drain', () => from.resume())
  from.on('end', () => {
    isEnded = true
    to.end()
    ended()
  })
  // Torn, not ended: the other side must not take it for a whole. After an end what was read is still on its way there,
  // also when writing in the other direction then fails, as it does when both say goodbye at once.
  from.on('close', () => {
    if (!isEnded) to.destroy()
  })
  // `close` follows.
  from.on('error', () => undefined)
}

/** Once one side has said its last word, the other has so long to hear it and to finish. */
const endingGraceMilliseconds = 5_000

/** Carries bytes both ways, no faster than either side takes them. Resolves when both sides are closed. */
export const joinStreams = (client: ByteDuplex, clientHead: Uint8Array, cluster: ByteDuplex, clusterHead: Uint8Array): Promise<void> =>
  new Promise((done) => {
    let grace: NodeJS.Timeout | undefined
    const ended = (): void => {
      grace ??= setTimeout(() => {
        client.destroy()
        cluster.destroy()
      }, endingGraceMilliseconds)
    }
    let open = 2
    for (const side of [client, cluster]) {
      side.on('close', () => {
        open -= 1
        if (open > 0) return
        clearTimeout(grace)
        done()
      })
    }
    if (clientHead.byteLength > 0) cluster.write(clientHead)
    if (clusterHead.byteLength > 0) client.write(clusterHead)
    copy(client, cluster, ended)
    copy(cluster, client, ended)
  })
