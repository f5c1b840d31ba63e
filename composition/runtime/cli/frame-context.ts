import type { AnyPart } from '../../part/part.ts'
import type { CommandContext } from '../../part/command-context.ts'
import type { Describe } from '../../part/describe.ts'

/** The parts of this repository. They are loaded when a command needs them. */
export interface OwnParts {
  load(): Promise<readonly AnyPart[]>
  /** Their commands, which `--help` shows without loading the parts. */
  readonly commands: readonly Describe[]
}

/** What the commands of the frame are given. */
export interface FrameContext extends CommandContext {
  readonly ownParts: OwnParts
}
