"""Files and notes as records: rows checked one by one, venue-years, versions, the sample."""
