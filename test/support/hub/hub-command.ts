import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The paths of the kubeconfigs of a hub and of a cluster that is not yet its spoke. */
interface StartedHub {
  readonly hub: string
  readonly spoke: string
  stop(): Promise<void>
}

/** Starts `npm run test-hub` with one spoke, as a person does. */
export const startHub = async (): Promise<StartedHub> => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./run.ts', import.meta.url)), '--spokes', '1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let said = ''
  for await (const text of child.stdout) {
    said += String(text)
    const [, hub, spoke] = /\n +HUB=(\S+)\n +SPOKE=(\S+)\n/.exec(said) ?? []
    if (hub === undefined || spoke === undefined) continue
    const stop = async (): Promise<void> => {
      child.kill('SIGTERM')
      await ended
    }
    return { hub, spoke, stop }
  }
  throw new Error(`The hub did not start: ${said}`)
}
