import { EventEmitter } from 'node:events'
import test from 'ava'
import { joinStreams } from '../../adapters/kubernetes/tunnel.ts'

/** One side of a tunnel, moved by hand. */
class Side extends EventEmitter {
  received = ''
  isEnded = false
  isPaused = false
  destroyed = false
  takesMore = true

  write(chunk: Uint8Array): boolean {
    this.received += Buffer.from(chunk).toString()
    return this.takesMore
  }
  end(): void {
    this.isEnded = true
  }
  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }
  pause(): void {
    this.isPaused = true
  }
  resume(): void {
    this.isPaused = false
  }
}

const start = (clientHead = '', clusterHead = '') => {
  const [client, cluster] = [new Side(), new Side()]
  return { client, cluster, joined: joinStreams(client, Buffer.from(clientHead), cluster, Buffer.from(clusterHead)) }
}

test('what was read before an end still arrives when the other direction then fails', async (t) => {
  const { client, cluster, joined } = start()
  cluster.emit('data', Buffer.from('last words'))
  cluster.emit('end')
  // Both said goodbye at once: ours could not be written any more.
  cluster.emit('error', new Error('EPIPE'))
  cluster.destroy()
  t.is(client.received, 'last words')
  t.true(client.isEnded)
  t.false(client.destroyed)
  client.destroy()
  await joined
})

test('a side that is torn tears the other, so that half is not taken for the whole', async (t) => {
  for (const [torn, other] of [['client', 'cluster'], ['cluster', 'client']] as const) {
    const { joined, ...sides } = start()
    sides[torn].emit('data', Buffer.from('half'))
    sides[torn].emit('error', new Error('ECONNRESET'))
    sides[torn].destroy()
    t.false(sides[other].isEnded)
    t.true(sides[other].destroyed)
    await joined
  }
})

test('a side that is full holds the other back until it drains', (t) => {
  const { client, cluster } = start()
  client.takesMore = false
  cluster.emit('data', Buffer.from('much'))
  t.true(cluster.isPaused)
  client.emit('drain')
  t.false(cluster.isPaused)
})

test('what came with the heads goes first', (t) => {
  const { client, cluster } = start('from client', 'from cluster')
  t.is(cluster.received, 'from client')
  t.is(client.received, 'from cluster')
})
