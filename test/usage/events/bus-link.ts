import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createConnection, createServer } from 'node:net'

/** The way of a service to its message bus, which a test can close. */
export interface BusLink {
  readonly url: string
  /** What a client sends is lost if it contains one of these texts. */
  holds: readonly string[]
  /** How many messages were lost. */
  held: number
  /** The bus is away: connections are cut, and new ones too. */
  isAway: boolean
  close(): void
}

export const startBusLink = async (busUrl: string): Promise<BusLink> => {
  const open = new Set<Socket>()
  let isAway = false
  const cut = (): void => {
    for (const socket of open) socket.destroy()
  }
  const server = createServer((near) => {
    if (isAway) return void near.destroy()
    const far = createConnection(Number(new URL(busUrl).port), '127.0.0.1')
    near.on('data', (bytes) => {
      if (link.holds.some((text) => bytes.includes(text))) link.held += 1
      else far.write(bytes)
    })
    far.pipe(near)
    open.add(near)
    for (const socket of [near, far])
      socket.on('error', () => undefined).on('close', () => (near.destroy(), far.destroy(), open.delete(near)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const link: BusLink = {
    url: `nats://127.0.0.1:${port}`,
    holds: [],
    held: 0,
    get isAway() {
      return isAway
    },
    set isAway(value) {
      isAway = value
      if (value) cut()
    },
    close: () => {
      server.close()
      cut()
    },
  }
  return link
}
