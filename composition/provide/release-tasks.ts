import { gzipRecordSizes } from '../../adapters/helm/record-sizes.ts'
import { timerPause } from '../../adapters/system/pause.ts'
import { PauseToken, RecordSizesToken } from '../../core/packages/release-task-ports.ts'
import type { Provide } from '../boot.ts'

/** What operations on releases use beside charts, records and helm. */
export const provideReleaseTasks: Provide = (container) => {
  container.provideValue(PauseToken, timerPause)
  container.provideValue(RecordSizesToken, gzipRecordSizes)
}
