"""Building blocks of views: tables, drawings, number formats. Measures use them, and report pages show them."""
