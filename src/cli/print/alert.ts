import type { AlertFact } from '../../contracts/journal.ts'
import { span } from './time.ts'

/** A figure in the unit of its metric, as people say it. */
export const figureText = (unit: AlertFact['unit'], figure: number): string => {
  switch (unit) {
    case 'ratio':
      return `${Number((figure * 100).toFixed(1))} %`
    case 'ms':
      return span(figure)
    case 'per minute':
      return `${Number(figure.toFixed(1))} a minute`
    case 'count':
      return figure.toLocaleString('en')
  }
}

export const alertText = ({ metric, unit, figure, over, limit }: AlertFact): string =>
  `${metric} ${figureText(unit, figure)}, ${over === '>' ? 'above' : 'at or above'} ${figureText(unit, limit)}`
