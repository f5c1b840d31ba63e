import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { LoadTarget } from './protocol.ts'

/** What a connection tells: each whole answer, the bytes of a stream, what went wrong. */
export interface ConnectionEvents {
  answered(sentAt: number, status: number): void
  received(bytes: number): void
  failed(reason: string): void
}

/**
 * The last chunk of a chunked body and the empty trailer, behind the end of the line before. A body can end a chunk in
 * `0` and a line break, as CSV does, but not behind a line break.
 */
const lastChunk = Buffer.from('\r\n0\r\n\r\n')
const lineBreak = Buffer.from('\r\n')
const headEnd = Buffer.from('\r\n\r\n')

/**
 * One keep-alive connection that knows just enough of HTTP/1.1 to tell where an answer ends. A general client costs as
 * much for each request as the servers under test, and would hide the difference between them.
 */
export class LoadConnection {
  readonly #target: LoadTarget
  readonly #events: ConnectionEvents
  readonly #requests: readonly Buffer[]
  #next = 0
  #socket: Socket | undefined
  #isOpen = false
  #sentAt = 0
  #isWaiting = false
  #head: Buffer | undefined
  #body: 'none' | 'length' | 'chunked' | 'stream' = 'none'
  #left = 0
  #tail: Buffer = Buffer.alloc(0)
  #status = 0
  #closesAfter = false

  /** @param place 0 to 1: where among the requests of the target this connection begins. */
  constructor(target: LoadTarget, requests: readonly Buffer[], events: ConnectionEvents, place: number) {
    this.#target = target
    this.#events = events
    this.#requests = requests
    this.#next = Math.floor(place * requests.length)
  }

  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** Sends the next request, on a new connection when the server has closed the last one. */
  send(): void {
    this.#isWaiting = true
    this.#sentAt = performance.now()
    const socket = this.#socket ?? this.#open()
    if (this.#isOpen) this.#write(socket)
  }

  #write(socket: Socket): void {
    const request = this.#requests[this.#next % this.#requests.length]
    this.#next += 1
    if (request !== undefined) socket.write(request)
  }

  cut(): void {
    this.#isWaiting = false
    this.#isOpen = false
    this.#socket?.removeAllListeners()
    this.#socket?.on('error', () => undefined)
    this.#socket?.destroy()
    this.#socket = undefined
    this.#head = undefined
    this.#body = 'none'
  }

  #open(): Socket {
    const { host, port, ca } = this.#target
    const socket =
      ca === undefined
        ? connectTcp({ host, port, noDelay: true })
        : connectTls({ host, port, ca, ALPNProtocols: ['http/1.1'] })
    socket.setNoDelay(true)
    this.#socket = socket
    socket.once(ca === undefined ? 'connect' : 'secureConnect', () => {
      this.#isOpen = true
      if (this.#isWaiting) this.#write(socket)
    })
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', (error: NodeJS.ErrnoException) => this.#lost(error.code ?? error.message))
    socket.on('close', () => this.#lost('closed by the server'))
    return socket
  }

  #lost(reason: string): void {
    if (this.#socket === undefined) return
    const wasWaiting = this.#isWaiting
    this.cut()
    if (wasWaiting) this.#events.failed(reason)
  }

  #read(chunk: Buffer): void {
    this.#events.received(chunk.length)
    switch (this.#body) {
      case 'none':
        return this.#readHead(chunk)
      case 'length':
        this.#left -= chunk.length
        if (this.#left <= 0) this.#complete()
        return
      case 'chunked':
        return this.#readChunked(chunk)
      case 'stream':
        return
    }
  }

  #readHead(chunk: Buffer): void {
    const bytes = this.#head === undefined ? chunk : Buffer.concat([this.#head, chunk])
    const end = bytes.indexOf(headEnd)
    if (end === -1) return void (this.#head = bytes)
    this.#head = undefined
    const head = bytes.toString('latin1', 0, end)
    this.#status = Number(head.slice(9, 12))
    this.#closesAfter = /\r\nconnection: close/i.test(head)
    const rest = bytes.length - end - 4
    if (this.#target.kind === 'stream') return void (this.#body = 'stream')
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    if (length !== null) {
      this.#left = Number(length[1]) - rest
      this.#body = 'length'
      if (this.#left <= 0) this.#complete()
      return
    }
    this.#body = 'chunked'
    this.#tail = lineBreak
    if (rest > 0) this.#readChunked(bytes.subarray(end + 4))
  }

  #readChunked(chunk: Buffer): void {
    this.#tail =
      chunk.length >= lastChunk.length
        ? chunk.subarray(-lastChunk.length)
        : Buffer.concat([this.#tail, chunk]).subarray(-lastChunk.length)
    if (this.#tail.equals(lastChunk)) this.#complete()
  }

  #complete(): void {
    this.#body = 'none'
    this.#isWaiting = false
    if (this.#closesAfter) this.cut()
    this.#events.answered(this.#sentAt, this.#status)
  }
}
