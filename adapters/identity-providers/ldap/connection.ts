import { connect, isIP } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { Client, ResultCodeError } from 'ldapts'
import type { DirectoryClient } from '../../../core/identity-providers/types.ts'
import type { EgressAllowance, UserUrlPolicy } from '../../outbound/egress-policy.ts'
import { EgressRefused } from '../../outbound/egress-policy.ts'
import { MessageStream } from './message-stream.ts'
import { DirectoryProblem } from './problems.ts'

export interface ConnectionOptions {
  readonly policy: UserUrlPolicy
  readonly allowance: Pick<EgressAllowance, 'hasPort'>
  /** Of one request to the server; 10 seconds by default. */
  readonly requestMilliseconds?: number
}

const defaultMilliseconds = 10_000
/** RFC 4511 §4.14. */
const startTls = '1.3.6.1.4.1.1466.20037'
/** Of LDAP, and of the global catalog of Active Directory. */
const usualPorts: ReadonlySet<number> = new Set([389, 636, 3268, 3269])

interface Target {
  readonly host: string
  readonly port: number
  readonly encryption: 'tls' | 'starttls' | 'none'
  /** What the guard judges: it lets http through only where the operator does. */
  readonly url: URL
}

const targetOf = ({ address, options }: DirectoryClient): Target => {
  const encryption = /^ldaps:/i.test(address) ? 'tls' : options.usesStartTls ? 'starttls' : 'none'
  const { hostname } = new URL(address.replace(/^ldaps?/i, 'http'))
  const port = Number(/:(\d{1,5})$/.exec(address)?.[1] ?? (encryption === 'tls' ? 636 : 389))
  const url = new URL(`${encryption === 'none' ? 'http' : 'https'}://${hostname}:${port}`)
  return { host: hostname.replaceAll(/^\[|\]$/g, ''), port, encryption, url }
}

/** Waits for an event of a socket that opens. */
const opened = <S extends Socket>(socket: S, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<S> =>
  new Promise((resolve, reject) => {
    const onAbort = (): void => void socket.destroy(signal.reason as Error)
    const settled = (): void => signal.removeEventListener('abort', onAbort)
    signal.addEventListener('abort', onAbort)
    socket.once(event, () => {
      settled()
      resolve(socket)
    })
    // It stays: the error of a socket without a listener ends the process.
    socket.on('error', (error) => {
      settled()
      reject(error)
    })
  })

const secured = (socket: Socket, host: string, authorities: string, signal: AbortSignal): Promise<Socket> =>
  opened(
    connectSecurely({
      socket,
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(authorities === '' ? {} : { ca: authorities }),
    }),
    'secureConnect',
    signal,
  )

interface Speaking {
  readonly client: Client
  readonly stream: MessageStream
}

/** Returns the library's client on an open socket. It never connects again: that connection would not be bound. */
const speakOn = (socket: Socket, requestMilliseconds: number): Speaking => {
  const stream = new MessageStream(socket)
  let isTaken = false
  const client = new Client({
    url: 'ldap://directory.invalid',
    timeout: requestMilliseconds,
    strictDN: false,
    createConnection: (() => {
      if (isTaken) throw new DirectoryProblem('lost')
      isTaken = true
      return stream as unknown as Socket
    }) as typeof connect,
  })
  return { client, stream }
}

/** Asks for encryption. Everything that was read before it is dropped with the client that has read it. */
const negotiate = async (socket: Socket, requestMilliseconds: number): Promise<Socket> => {
  const { client, stream } = speakOn(socket, requestMilliseconds)
  try {
    await client.exop(startTls)
  } catch (error) {
    throw error instanceof ResultCodeError ? new DirectoryProblem('starttls', { cause: error }) : error
  }
  return stream.release()
}

/** A bound connection to a directory. */
export interface LdapConnection {
  readonly client: Client
  /** Begins the limits of an answer again. */
  beginAnswer(): void
}

const bindAsService = async (client: Client, { bindDn, secret }: DirectoryClient): Promise<void> => {
  if (bindDn === '') return
  const password = secret?.reveal() ?? ''
  if (password === '') throw new DirectoryProblem('bind')
  try {
    await client.bind(bindDn, password)
  } catch (error) {
    throw error instanceof ResultCodeError ? new DirectoryProblem('bind', { cause: error }) : error
  }
}

/** Runs work on a connection of its own, which ends with it. Only checked addresses are connected to. */
export const makeConnect =
  ({ policy, allowance, requestMilliseconds = defaultMilliseconds }: ConnectionOptions) =>
  async <A>(
    of: DirectoryClient,
    signal: AbortSignal,
    work: (connection: LdapConnection, bind: () => Promise<void>) => Promise<A>,
  ): Promise<A> => {
    const { host, port, encryption, url } = targetOf(of)
    const refused = policy.refusal(url)
    if (refused !== undefined) throw new EgressRefused(refused)
    // Another port is that of another service, to which an owner's words would be sent.
    if (!usualPorts.has(port) && !allowance.hasPort(url)) throw new DirectoryProblem('port')
    signal.throwIfAborted()
    const opening = AbortSignal.any([signal, AbortSignal.timeout(requestMilliseconds)])
    const onAbort = (): void => void plain.destroy(signal.reason as Error)
    const plain = connect({ host, port, lookup: policy.lookupFor(url) })
    signal.addEventListener('abort', onAbort)
    try {
      await opened(plain, 'connect', opening)
      const ready = encryption === 'starttls' ? await negotiate(plain, requestMilliseconds) : plain
      const socket = encryption === 'none' ? ready : await secured(ready, host, of.options.authorities, opening)
      const { client, stream } = speakOn(socket, requestMilliseconds)
      return await work({ client, beginAnswer: () => stream.beginAnswer() }, () => bindAsService(client, of))
    } finally {
      signal.removeEventListener('abort', onAbort)
      plain.destroy()
    }
  }
