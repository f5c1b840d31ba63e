import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Reads a file of `deploy/`. */
export const example = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../deploy/${path}`, import.meta.url)), 'utf8')

/** Replaces what an operator would; each text must be in the example. */
export const adapted = (text: string, changes: readonly (readonly [string, string])[]): string =>
  changes.reduce((now, [from, to]) => {
    if (!now.includes(from)) throw new Error(`the example lacks ${from}`)
    return now.replaceAll(from, to)
  }, text)

/** The ports of an instance. */
export interface Instance {
  readonly api: number
  readonly ops: number
}

export interface ProxyFiles {
  /** Has the certificate. */
  readonly folder: string
  readonly port: number
  readonly instances: readonly Instance[]
}

const servers = `    server a 10.0.0.11:3000 port 3002
    server b 10.0.0.12:3000 port 3002
`

/** Returns the example of HAProxy for instances of this machine. */
export const haproxyFile = ({ folder, port, instances }: ProxyFiles): string =>
  adapted(example('haproxy/haproxy.cfg'), [
    [servers, instances.map(({ api, ops }, index) => `    server s${index} 127.0.0.1:${api} port ${ops}\n`).join('')],
    ['bind :443', `bind 127.0.0.1:${port}`],
    ['/etc/haproxy/', `${folder}/`],
  ])
