import { connect, createServer, type Socket } from 'node:net'

/** Where the proxy leads. */
export interface FaultProxyTarget {
  readonly host?: string
  readonly port: number
}

/**
 * A TCP proxy on loopback that breaks connections on demand. Faults act on the connections that
 * are open and on those that come, until `resume`.
 */
export interface FaultProxy {
  readonly host: '127.0.0.1'
  readonly port: number
  /** How many client connections are open. */
  connections(): number
  /** Half-open: bytes of both directions are swallowed, nothing is closed, new connections are accepted. */
  pause(): void
  /** Resets every open connection; new ones pass. */
  cut(): void
  /**
   * Once a client has sent bytes that contain the marker: forwards them, waits until the target has
   * answered (or `graceMilliseconds`), delivers none of the answer and resets that connection.
   * Everything before passes. Acts once; resolves when it has acted.
   */
  cutAfterClientBytesMatching(marker: string | Uint8Array, graceMilliseconds?: number): Promise<void>
  /**
   * The same for the second marker, once a client has sent the first one on the same connection. `hold` keeps the
   * connection open and delivers no answer any more.
   */
  loseAnswerAfter(first: string, marker: string, how?: 'cut' | 'hold'): Promise<void>
  /**
   * The lost answer: requests still reach the target, answers are dropped, and a connection is reset
   * as soon as the target has answered on it.
   */
  dropResponses(): void
  /** Ends every fault. Connections on which bytes were swallowed are reset, since they lost their place. */
  resume(): void
  close(): Promise<void>
}

type Mode = 'passing' | 'paused' | 'dropping-responses'

interface Link {
  readonly client: Socket
  readonly server: Socket
  /** Bytes went missing, so this connection can never be of use again. */
  isSpoilt: boolean
  /** Set once a marker was seen: the target's next answer is the one to lose. */
  onAnswer: (() => void) | undefined
  /** The end of what the client sent, in which a marker may have begun. */
  tail: Buffer
  /** A trap for this connection alone. */
  own: Trap | undefined
}

interface Trap {
  readonly marker: Buffer
  readonly graceMilliseconds: number
  readonly sprung: () => void
  readonly how?: 'cut' | 'hold'
  /** The trap that is laid on the connection once the marker was seen. Nothing else is done then. */
  readonly then?: Trap
}

/** Starts a proxy to the target; it passes everything until told otherwise. */
export async function startFaultProxy(target: FaultProxyTarget): Promise<FaultProxy> {
  const links = new Links()
  // Half-open allowed: an end is passed on by hand, or held back while paused.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    links.join(client, connect({ port: target.port, host: target.host ?? '127.0.0.1', allowHalfOpen: true }))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has no port')
  return {
    host: '127.0.0.1',
    port: address.port,
    connections: () => links.size,
    pause: () => links.enter('paused'),
    cut: () => links.cut(),
    cutAfterClientBytesMatching: (marker, graceMilliseconds = 2000) =>
      new Promise((sprung) => links.lay({ marker: Buffer.from(marker), graceMilliseconds, sprung })),
    loseAnswerAfter: (first, marker, how = 'cut') =>
      new Promise((sprung) => {
        const then = { marker: Buffer.from(marker), graceMilliseconds: 10_000, sprung, how }
        links.lay({ marker: Buffer.from(first), graceMilliseconds: 0, sprung: () => undefined, then })
      }),
    dropResponses: () => links.enter('dropping-responses'),
    resume: () => links.enter('passing'),
    close: async () => {
      links.cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

class Links {
  readonly #open = new Set<Link>()
  readonly #traps = new Set<Trap>()
  #mode: Mode = 'passing'

  get size(): number {
    return this.#open.size
  }

  enter(mode: Mode): void {
    this.#mode = mode
    if (mode !== 'passing') return
    this.#traps.clear()
    for (const link of this.#open) {
      const isBroken = link.isSpoilt || link.client.readableEnded || link.server.readableEnded
      if (isBroken) this.#reset(link)
    }
  }

  lay(trap: Trap): void {
    this.#traps.add(trap)
  }

  cut(): void {
    for (const link of this.#open) this.#reset(link)
  }

  join(client: Socket, server: Socket): void {
    const link: Link = { client, server, isSpoilt: false, onAnswer: undefined, tail: Buffer.alloc(0), own: undefined }
    this.#open.add(link)
    client.on('data', (bytes) => this.#fromClient(link, bytes))
    server.on('data', (bytes) => this.#fromServer(link, bytes))
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.setNoDelay(true)
      from.on('drain', () => to.resume())
      from.on('error', () => this.#reset(link))
      // While paused the other side must not learn that this one has gone.
      from.on('end', () => {
        if (this.#mode !== 'paused') to.end()
      })
      from.on('close', () => {
        if (from.destroyed && to.destroyed) this.#open.delete(link)
      })
    }
  }

  #fromClient(link: Link, bytes: Buffer): void {
    if (this.#mode === 'paused') {
      link.isSpoilt = true
      return
    }
    if (link.own !== undefined && isMarked(link.own, link, bytes)) this.#arm(link.own, link)
    for (const trap of this.#traps) if (isMarked(trap, link, bytes)) this.#arm(trap, link)
    link.tail = Buffer.concat([link.tail, bytes]).subarray(
      -Math.max(64, ...[...this.#traps].map((trap) => trap.marker.length), link.own?.marker.length ?? 0),
    )
    if (!link.server.write(bytes)) link.client.pause()
  }

  #fromServer(link: Link, bytes: Buffer): void {
    if (link.onAnswer !== undefined) return link.onAnswer()
    if (this.#mode === 'dropping-responses') return this.#reset(link)
    if (this.#mode === 'paused' || link.isSpoilt) {
      link.isSpoilt = true
      return
    }
    if (!link.client.write(bytes)) link.server.pause()
  }

  #arm(trap: Trap, link: Link): void {
    this.#traps.delete(trap)
    link.own = trap.then
    if (trap.then !== undefined) return
    const act = () => {
      clearTimeout(timer)
      if (trap.how === 'hold') link.isSpoilt = true
      else this.#reset(link)
      trap.sprung()
    }
    const timer = setTimeout(act, trap.graceMilliseconds)
    link.onAnswer = act
  }

  #reset(link: Link): void {
    this.#open.delete(link)
    link.client.resetAndDestroy()
    link.server.destroy()
  }
}

function isMarked(trap: Trap, link: Link, bytes: Buffer): boolean {
  const before = link.tail.subarray(Math.max(0, link.tail.length - trap.marker.length + 1))
  return Buffer.concat([before, bytes]).includes(trap.marker)
}
