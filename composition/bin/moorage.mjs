#!/usr/bin/env node
// Starts the command on Node 24, whatever Node npm's link was made for: the one that came with `npm ci` when this one is
// older. Written for old Nodes: no TypeScript, no new syntax.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const neededMajor = 24

/** The sources in a checkout, even beside an older build; Node 24 runs them as they stand, but not under node_modules. */
const sources = join(here, '..', 'main.ts')
const isInstalled = here.split(sep).includes('node_modules')
const entry = !isInstalled && existsSync(sources) ? sources : join(here, '..', '..', 'dist', 'composition', 'main.js')

/**
 * Stops this process as on SIGHUP when its parent is gone. The service would else stay behind and keep its ports: npx ends at once
 * on SIGTERM, and the shell between it and this process passes nothing on; npm and the process on an old Node may be killed.
 */
const stopWithParent = () => {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGHUP')
  }, 500)
  watch.unref()
}

const runHere = () => {
  delete process.env.MOORAGE_REEXECUTED
  if (!existsSync(entry)) {
    process.stderr.write(
      'moorage: this package was packed without its build. Where it was packed, run: npm pack --ignore-scripts=false\n',
    )
    process.exit(1)
  }
  return import(pathToFileURL(entry).href).catch(orMissingPackage)
}

/** Says what to run where packages are missing, as in a checkout before `npm ci`. Anything else is thrown. */
const orMissingPackage = (error) => {
  const found = error.code === 'ERR_MODULE_NOT_FOUND' ? /^Cannot find package '([^']+)'/.exec(error.message) : null
  if (found === null) throw error
  process.stderr.write(
    `moorage: the package ${found[1]} is not installed. ${isInstalled ? 'Install this package again.' : 'In this folder, run: npm ci'}\n`,
  )
  process.exit(1)
}

const runOn = (node) => {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  // A terminal sends a signal to the whole group, so the child may get it twice; it takes that as one. The child must not be
  // left behind by this process ending first.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => process.exit(code ?? 1))
  child.on('error', fail)
}

/** node_modules/.bin/node beside this package, or beside the package that depends on it. */
const installedNode = () => {
  for (let folder = here; ; folder = dirname(folder)) {
    const node = join(folder, 'node_modules', '.bin', 'node')
    if (existsSync(node)) return node
    if (dirname(folder) === folder) return undefined
  }
}

const fail = () => {
  process.stderr.write(
    `moorage: Node ${neededMajor} or newer is needed; this is ${process.version}. On Linux it comes with \`npm ci\`, elsewhere install it.\n`,
  )
  process.exit(1)
}

// npm and npx name themselves so.
if (process.env.npm_lifecycle_event !== undefined || process.env.MOORAGE_REEXECUTED !== undefined) stopWithParent()

if (Number(process.versions.node.split('.')[0]) >= neededMajor) {
  await runHere()
} else {
  const node = process.env.MOORAGE_REEXECUTED === undefined ? installedNode() : undefined
  if (node === undefined) fail()
  else {
    process.env.MOORAGE_REEXECUTED = '1'
    runOn(node)
  }
}
