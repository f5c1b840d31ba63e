import type { AnyPart } from '../../part/part.ts'
import type { CommandContext } from '../../part/command-context.ts'
import type { Describe } from '../../part/describe.ts'

/** The parts of this repository. They are loaded when a command needs them. */
export interface OwnParts {
  load(): Promise<readonly AnyPart[]>
  /** Their commands, which `--help` shows without loading the parts. */
  readonly commands: readonly Describe[]
}

/** What the commands of the runtime are given. */
export interface RuntimeContext extends CommandContext {
  readonly ownParts: OwnParts
}
