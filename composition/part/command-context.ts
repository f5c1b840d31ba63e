import { toWireJson } from '../../core/kernel/json.ts'
import type { Boot } from './boot.ts'
import type { Environment } from './setting.ts'
import type { RuntimeSettings } from './runtime-settings.ts'
import type { Container } from './container.ts'

/** The parts of the process that a command may use. */
export interface CommandContext {
  readonly environment: Environment
  /** Prints a line of the result to stdout. */
  print(text: string): void
  /** Prints any other line to stderr. */
  say(text: string): void
  /** Set when stdout is a terminal, for output that is redrawn in place. */
  readonly terminal?: { write(text: string): void; columns(): number; rows(): number }
  /** Registers `listener` for an interrupt from the keyboard. Returns a function that removes it. */
  onInterrupt?(listener: () => void): () => void
  /** Opens an address in the browser of the person. Resolves to false if no browser opens. */
  openBrowser?(url: string): Promise<boolean>
}

/** The options of every command. */
export interface CommonOptions {
  readonly config?: string
  readonly json?: boolean
}

/** 0: done, 1: failed, 2: wrong usage, 130: interrupted. */
export type ExitCode = 0 | 1 | 2 | 130

/** A deployment without listeners, for commands. */
export interface Ports {
  readonly boot: Boot
  readonly container: Container
}

/** What the commands of a part are given in addition. */
export interface PartContext extends CommandContext {
  /** Returns the settings. `valuesOf` types those of the part. Rejects with StartRefused. */
  settings(options: CommonOptions): Promise<RuntimeSettings>
  /**
   * Runs a command on the ports of this deployment, without listeners. The service may run at the same time. The ports
   * of a part that is closed here are missing: to resolve one throws.
   */
  onStore<A>(options: CommonOptions, work: (ports: Ports) => Promise<A>): Promise<A>
}

export const printJson = (context: Pick<CommandContext, 'print'>, value: unknown): void =>
  context.print(toWireJson(value, 2))

/** Removes control characters, which could move the cursor of a terminal or worse, from text of other sources. */
export const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ')

/** A line at a terminal that is written over. */
interface Progress {
  show(line: string): void
  clear(): void
}

/** Returns a progress line at the terminal. Without a terminal it writes nothing. */
export const makeProgress = ({ terminal }: Pick<CommandContext, 'terminal'>): Progress => {
  let written = 0
  return {
    show(text) {
      // A terminal whose size is not known says 0.
      const line = text.slice(0, (terminal?.columns() || 80) - 1)
      terminal?.write(`\r${line.padEnd(written)}`)
      written = line.length
    },
    clear() {
      if (written > 0) terminal?.write(`\r${' '.repeat(written)}\r`)
      written = 0
    },
  }
}
