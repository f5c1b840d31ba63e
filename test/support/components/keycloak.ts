import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { startProcess, untilReady } from './background-process.ts'
import { cached } from './cache-folder.ts'
import { withProgress, type Say } from './progress.ts'
import { reservedPort } from './reserved-port.ts'
import { createRunFolder, removeRunFolder } from './run-folder.ts'
import { findExecutable, mustRun } from './run-command.ts'

const release = '26.7.3'
const artifact = `org.keycloak:keycloak-quarkus-dist:${release}:zip`
const digestOfArchive = '27a6535553c3cdcd083872ba40629efafb3475e3b758e0c6f691395561dd0f1f'
const help = 'or leave these tests out with --without keycloak'

/** The distribution of Keycloak, which Maven downloads once. Returns its folder. It needs Java 17. */
const findKeycloak = async (say: Say): Promise<string> => {
  const folder = await cached(`keycloak-${digestOfArchive.slice(0, 12)}`, async (making) => {
    const [maven, unzip] = [findExecutable('mvn'), findExecutable('unzip')]
    if (maven === undefined || unzip === undefined)
      throw new Error(`there is no mvn or no unzip: install Maven and unzip (Debian: maven, unzip), ${help}`)
    const words = ['-q', '-B', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${making}`]
    await withProgress(say, 'fetching Keycloak', () => mustRun(maven, words, { cwd: making }))
    const path = join(making, `keycloak-quarkus-dist-${release}.zip`)
    const hash = createHash('sha256')
    await pipeline(createReadStream(path), hash)
    const digest = hash.digest('hex')
    if (digest !== digestOfArchive) throw new Error(`${artifact} has the digest ${digest}, ${help}`)
    await mustRun(unzip, ['-q', path], { cwd: making })
    await rm(path)
  })
  return join(folder, (await readdir(folder)).find((name) => name.startsWith('keycloak-')) ?? '')
}

/** A Keycloak that is running, with one realm. */
export interface Keycloak {
  readonly url: string
  /** Calls the administration of the realm, below `/admin/realms/<realm>`. Rejects if it is refused. */
  admin(method: string, path: string, body?: unknown): Promise<unknown>
  stop(): Promise<void>
}

const password = 'admin-of-the-tests'

/** Starts Keycloak with a realm of its own. It takes half a minute, and several on a busy machine. */
export const startKeycloak = async (realm: { readonly realm: string }, say: Say): Promise<Keycloak> => {
  const [distribution, port, run] = [await findKeycloak(say), await reservedPort(), createRunFolder('keycloak')]
  // Keycloak writes into its own folder.
  const home = join(run, 'home')
  await cp(distribution, home, { recursive: true })
  await mkdir(join(home, 'data/import'), { recursive: true })
  await writeFile(join(home, 'data/import/realm.json'), JSON.stringify(realm))
  const url = `http://127.0.0.1:${port}`
  const server = startProcess({
    name: 'keycloak',
    file: '/bin/sh',
    arguments: [
      join(home, 'bin/kc.sh'),
      'start-dev',
      '--http-host=127.0.0.1',
      `--http-port=${port}`,
      '--import-realm',
      '--metrics-enabled=false',
    ],
    folder: run,
    environment: { ...process.env, KC_BOOTSTRAP_ADMIN_USERNAME: 'admin', KC_BOOTSTRAP_ADMIN_PASSWORD: password },
  })
  const isReady = async (): Promise<boolean> => {
    try {
      return (await fetch(`${url}/realms/${realm.realm}/.well-known/openid-configuration`)).ok
    } catch {
      return false
    }
  }
  await withProgress(say, 'starting Keycloak', () => untilReady(server, isReady, 480_000))
  const tokenOf = async (): Promise<string> => {
    const form = { grant_type: 'password', client_id: 'admin-cli', username: 'admin', password }
    const reply = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    })
    return ((await reply.json()) as { readonly access_token: string }).access_token
  }
  return {
    url,
    async admin(method, path, body) {
      const reply = await fetch(`${url}/admin/realms/${realm.realm}${path}`, {
        method,
        headers: { authorization: `Bearer ${await tokenOf()}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await reply.text()
      if (!reply.ok) throw new Error(`Keycloak ${method} ${path}: ${reply.status} ${text}`)
      return text === '' ? undefined : JSON.parse(text)
    },
    stop: async () => {
      await server.stop()
      removeRunFolder(run)
    },
  }
}
