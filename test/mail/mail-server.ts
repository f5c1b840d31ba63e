import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { SMTPServerOptions } from 'smtp-server'
import PostalMime from 'postal-mime'
import type { Email } from 'postal-mime'
import { makeServerCertificate } from '../support/server-certificate.ts'

interface ReceivedMail {
  readonly envelopeFrom: string
  readonly envelopeTo: readonly string[]
  readonly overTls: boolean
  readonly signedInAs: string | undefined
  readonly raw: string
  readonly mail: Email
}

export interface MailServerOptions {
  /** Refuses with this status at the given word of the protocol, while it answers a number. */
  readonly refuses?: (at: 'MAIL FROM' | 'RCPT TO' | 'DATA' | 'AUTH') => number | undefined
  /** Waits with the answer to a mail that it has taken. */
  readonly answersData?: () => Promise<void>
  readonly tls?: 'starttls' | 'none' | 'implicit'
  readonly login?: { readonly user: string; readonly password: string }
}

/** A real mail server on a loopback port, which keeps what it took. */
export interface MailServer {
  readonly port: number
  /** Its certificate is its own authority. */
  readonly ca: string
  readonly received: readonly ReceivedMail[]
  connections(): number
  stop(): Promise<void>
}

const refusal = (status: number): Error => Object.assign(new Error(`refused with ${status}`), { responseCode: status })

export const startMailServer = async (options: MailServerOptions = {}): Promise<MailServer> => {
  const { certificatePem, keyPem } = await makeServerCertificate('localhost')
  const received: ReceivedMail[] = []
  let connections = 0
  const judge = (at: 'MAIL FROM' | 'RCPT TO' | 'DATA' | 'AUTH'): Error | null => {
    const status = options.refuses?.(at)
    return status === undefined ? null : refusal(status)
  }
  const settings: SMTPServerOptions = {
    cert: certificatePem,
    key: keyPem,
    secure: options.tls === 'implicit',
    authOptional: options.login === undefined,
    disabledCommands: [
      ...(options.tls === 'none' ? ['STARTTLS'] : []),
      ...(options.login === undefined ? ['AUTH'] : []),
    ],
    allowInsecureAuth: false,
    logger: false,
    onConnect: (_session, done) => {
      connections += 1
      done()
    },
    onAuth: (auth, _session, done) => {
      const refused = judge('AUTH')
      const isRight = auth.username === options.login?.user && auth.password === options.login?.password
      if (refused !== null || !isRight) done(refused ?? refusal(535))
      else done(null, { user: auth.username })
    },
    onMailFrom: (_address, _session, done) => done(judge('MAIL FROM')),
    onRcptTo: (_address, _session, done) => done(judge('RCPT TO')),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk))
      stream.on('end', () => {
        const refused = judge('DATA')
        if (refused !== null) return done(refused)
        const raw = Buffer.concat(chunks)
        void PostalMime.parse(raw).then(async (mail) => {
          const { mailFrom, rcptTo } = session.envelope
          received.push({
            envelopeFrom: mailFrom === false ? '' : mailFrom.address,
            envelopeTo: rcptTo.map(({ address }) => address),
            overTls: session.secure,
            signedInAs: session.user,
            raw: raw.toString('utf8'),
            mail,
          })
          await options.answersData?.()
          done()
        })
      })
    },
  }
  const server = new SMTPServer(settings)
  // Clients that hang up are part of these tests.
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.server.address() as AddressInfo).port,
    ca: certificatePem,
    received,
    connections: () => connections,
    stop: () => new Promise((resolve) => server.close(resolve)),
  }
}
