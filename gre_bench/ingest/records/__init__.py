"""Turns files and notes into records: rows checked one by one, venue-years, versions, the sample."""
