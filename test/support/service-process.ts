import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../composition/moorage.ts'
import { tagsOf } from '../../composition/runtime/http/openapi/document.ts'
import { deploymentOf } from '../../composition/runtime/service/compose.ts'
import type { AnswerCheck } from './answer-check.ts'
import { makeAnswerCheckOf } from './answer-check.ts'
import { assemblyOf } from './declared-routes.ts'
import type { SendOptions, ServiceAnswer } from './send-json.ts'
import { makeSendJson } from './send-json.ts'
import { testEnvironment } from './service.ts'
import { watchReceivedAnswers } from './watch-answers.ts'

export interface ProcessOptions {
  readonly settings?: Readonly<Record<string, string>>
  readonly database?: 'sqlite' | 'mysql'
  /** After `serve`. */
  readonly words?: readonly string[]
  /** The words before the command, which run it where a disk is mounted. */
  readonly enter?: readonly string[]
  /** Answers pass a program that adds to them, and are not held against the document. */
  readonly isBehindProxy?: boolean
}

/** `node composition/main.ts serve` as a process of its own. */
export interface ServiceProcess {
  readonly baseUrl: string
  readonly opsUrl: string
  readonly pid: number
  send(method: string, path: string, options?: SendOptions): Promise<ServiceAnswer>
  stdout(): string
  stderr(): string
  signal(name: NodeJS.Signals): void
  /** The exit code, or the signal's name. */
  readonly exited: Promise<number | string>
  /** SIGTERM, then SIGKILL when it does not end; removes its folder. */
  stop(): Promise<void>
}

export const mainFile = fileURLToPath(new URL('../../composition/main.ts', import.meta.url))

/** How this process loads modules: the cache of compiled ones, and the bundle of packages. */
const loading = ['NODE_COMPILE_CACHE', 'NODE_OPTIONS']

/** The environment of a child: PATH, HOME and how this one loads modules, and no variable of the product. */
export const cleanEnvironment = (more: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'] ?? '',
  HOME: process.env['HOME'] ?? '',
  ...Object.fromEntries(loading.map((name) => [name, process.env[name]])),
  ...more,
})

/** Starts the real command and waits until it says where it listens. */
export const startServiceProcess = async (options: ProcessOptions = {}): Promise<ServiceProcess> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-process-'))
  // What a killed process leaves among the temporary files, the next one to start would find.
  const environment = cleanEnvironment({
    TMPDIR: folder,
    ...(await testEnvironment(folder, options.database ?? 'sqlite')),
    ...options.settings,
  })
  const [file = process.execPath, ...given] = [
    ...(options.enter ?? []),
    process.execPath,
    mainFile,
    'serve',
    ...(options.words ?? []),
  ]
  const child = spawn(file, given, { env: environment, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  const exited = new Promise<number | string>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown')),
  )
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (output.stderr += text))
  const ready = new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.stdout += text
      if (/Health +\S+\n/.test(output.stdout)) resolve()
    })
    void exited.then((code) =>
      reject(new Error(`the service ended with ${code} before it was ready: ${output.stderr}`)),
    )
  })
  await ready
  const baseUrl = /API +(\S+)\/api\/v1\n/.exec(output.stdout)?.[1] ?? ''
  // Every answer that this process receives whole is held against the document.
  const answers =
    options.isBehindProxy === true
      ? { stop: () => undefined }
      : watchReceivedAnswers(Number(new URL(baseUrl).port), await checkOf(baseUrl, environment))
  return {
    baseUrl,
    opsUrl: /Health +(\S+)\/readyz\n/.exec(output.stdout)?.[1] ?? '',
    pid: child.pid ?? 0,
    send: makeSendJson(baseUrl),
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    signal: (name) => void child.kill(name),
    exited,
    stop: async () => {
      child.kill('SIGTERM')
      const last = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await exited
      clearTimeout(last)
      rmSync(folder, { recursive: true, force: true })
      answers.stop()
    },
  }
}

/**
 * The routes are those of this process, whose sources are the same: a document of the other one takes longer than its
 * start.
 */
const checkOf = async (baseUrl: string, environment: NodeJS.ProcessEnv): Promise<() => AnswerCheck> => {
  const { settings, parts, ownParts } = await loadConfig({ environment })
  const deployment = deploymentOf(settings)
  return () =>
    makeAnswerCheckOf(
      assemblyOf(
        deployment,
        parts.slice(ownParts).map(({ plugin }) => plugin),
      ).routes,
      { baseUrl, sessionCookie: settings.sessionCookie, deployment, tags: tagsOf(parts) },
    )
}
