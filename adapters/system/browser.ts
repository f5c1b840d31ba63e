import { spawn } from 'node:child_process'

/** A command that has not ended by then has opened a browser, which some keep in the foreground. */
const graceMs = 2_000

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the command that opens an address for the person at this machine; undefined if there is no screen. */
const opener = (environment: Environment, platform: NodeJS.Platform): string | undefined => {
  if (platform === 'darwin') return environment['SSH_CONNECTION'] === undefined ? 'open' : undefined
  const hasScreen = [environment['DISPLAY'], environment['WAYLAND_DISPLAY']].some((each) => (each ?? '') !== '')
  return platform !== 'win32' && hasScreen ? 'xdg-open' : undefined
}

/** Opens an address in the browser of the person. Resolves to false if no browser opens. */
export const openBrowser = (
  url: string,
  environment: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
): Promise<boolean> => {
  const command = opener(environment, platform)
  if (command === undefined) return Promise.resolve(false)
  return new Promise((resolve) => {
    const child = spawn(command, [url], { detached: true, stdio: 'ignore', env: environment })
    const timer = setTimeout(() => resolve(true), graceMs)
    const end = (isOpen: boolean): void => {
      clearTimeout(timer)
      resolve(isOpen)
    }
    child.once('error', () => end(false))
    child.once('exit', (code) => end(code === 0))
    child.unref()
  })
}
